#pragma once

#include <string>
#include <vector>

#include "config/run_config.h"

namespace lockstep {

// A configuration that comes with the program: presets/<name>.toml, compiled in.
struct Preset {
  std::string name;
  std::string text;
};

const std::vector<Preset>& presets();

// A preset by name or a file by path, changed by "key=value" words.
RunConfig find_config(const std::string& name_or_path, const std::vector<std::string>& changes);

}  // namespace lockstep
