#include "study/shipped_studies.h"

#include "base/error.h"
#include "base/nearest.h"
#include "os/files.h"

namespace lockstep {

std::string find_study(const std::string& name) {
  if (fs::is_regular_file(name)) return read_text(name);
  const std::string stem = fs::path(name).stem().string();
  std::vector<std::string> names;
  for (const ShippedStudy& study : shipped_studies()) {
    if (name == study.name || name == fmt::format("studies/{}.toml", study.name)) return study.text;
    names.push_back(study.name);
  }
  throw UserError("'{}' is neither a file nor a study that comes with lockstep; {}", name,
                  suggestion(stem, names));
}

}  // namespace lockstep
