#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A published experiment that comes with the program: studies/<name>.toml, compiled in.
struct ShippedStudy {
  std::string name;
  std::string text;
};
const std::vector<ShippedStudy>& shipped_studies();

}  // namespace lockstep
