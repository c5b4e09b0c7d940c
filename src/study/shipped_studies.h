#pragma once

#include <string>
#include <vector>

namespace lockstep {

// A published experiment shipped with the program: studies/<name>.toml, compiled in.
struct ShippedStudy {
  std::string name;
  std::string text;
};
const std::vector<ShippedStudy>& shipped_studies();

// The text of a study: of a file by path, or of a shipped study by name.
std::string find_study(const std::string& name);

}  // namespace lockstep
