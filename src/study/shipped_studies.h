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

// The text of a study: a file by path, or one that comes with the program by name.
std::string find_study(const std::string& name);

}  // namespace lockstep
