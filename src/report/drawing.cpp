#include "report/drawing.h"

#include "base/error.h"
#include "os/library.h"

namespace lockstep {

const FigureLibrary& figure_library() {
  static const FigureLibrary* loaded =
      load_library<FigureLibrary>("lockstep_figures.so", "lockstep_figures_library");
  return *loaded;
}

void write_aside(const fs::path& file, const std::function<std::string(const fs::path&)>& write) {
  const fs::path aside = file.string() + ".new";
  std::string reason = write(aside);
  std::error_code error;
  if (reason.empty()) {
    fs::rename(aside, file, error);
    if (!error) return;
    reason = error.message();
  }
  fs::remove(aside, error);
  throw Failure("cannot write {}: {}", file.string(), reason);
}

}  // namespace lockstep
