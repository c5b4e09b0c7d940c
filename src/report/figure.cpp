#include "report/figure.h"

#include "base/error.h"
#include "os/library.h"
#include "report/cairo/library.h"
#include "report/document.h"

namespace lockstep {
namespace {

const FigureLibrary& library() {
  static const FigureLibrary* loaded =
      load_library<FigureLibrary>("lockstep_figures.so", "lockstep_figures_library");
  return *loaded;
}

// Writes to a temporary file first, so that `file` is never incomplete. `write` returns the reason
// of a failure, or "".
template <typename Write>
void write_aside(const fs::path& file, Write write) {
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

}  // namespace

void draw(const Figure& figure, const fs::path& file) {
  write_aside(file, [&](const fs::path& aside) {
    return library().draw(figure, aside, file.extension() == ".png");
  });
}

void write_pdf(const Document& document, const fs::path& file) {
  write_aside(file, [&](const fs::path& aside) { return library().write_pdf(document, aside); });
}

}  // namespace lockstep
