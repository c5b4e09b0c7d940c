#include "config/presets.h"

#include "base/error.h"
#include "base/nearest.h"
#include "os/files.h"

namespace lockstep {

RunConfig find_config(const std::string& name_or_path, const std::vector<std::string>& changes) {
  std::vector<std::string> names;
  std::string text, source = name_or_path;
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
    if (preset.name == name_or_path) text = preset.text;
  }
  if (text.empty() && fs::is_directory(name_or_path) &&
      fs::exists(fs::path(name_or_path) / "config.toml"))
    source = (fs::path(name_or_path) / "config.toml").string();
  if (text.empty() && fs::is_regular_file(source)) text = read_text(source);
  if (text.empty() && name_or_path.find_first_of("./") != std::string::npos)
    throw UserError("cannot read the configuration {}: no such file, or it is empty", name_or_path);
  if (text.empty())
    throw UserError("'{}' is neither a preset nor a file; {}", name_or_path,
                    suggestion(name_or_path, names));
  RunConfig config;
  if (source == name_or_path && source.ends_with(".toml")) config.name = fs::path(source).stem();
  set_keys(config, parse_toml(text, source));
  for (const std::string& change : changes) set_keys(config, {parse_assignment(change)});
  start_from(config);
  check(config);
  return config;
}

}  // namespace lockstep
