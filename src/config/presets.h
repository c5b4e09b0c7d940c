#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace lockstep {

// A built-in configuration: presets/<name>.toml, compiled into the program.
struct Preset {
  std::string name;
  std::string text;
};

const std::vector<Preset>& presets();

// Reads a preset by name, or a TOML file or run folder by path, applies "key=value" changes and
// checks the result.
RunConfig find_config(const std::string& name_or_path, const std::vector<std::string>& changes);

}  // namespace lockstep
