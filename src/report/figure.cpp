#include "report/figure.h"

#include "base/library.h"
#include "report/cairo/library.h"
#include "report/document.h"

namespace lockstep {
namespace {

const FigureLibrary& library() {
  static const FigureLibrary* loaded =
      load_library<FigureLibrary>("lockstep_figures.so", "lockstep_figures_library");
  return *loaded;
}

// Aside first, so that the file is never there in half.
template <typename Write>
void write_aside(const fs::path& file, Write write) {
  const fs::path aside = file.string() + ".new";
  try {
    write(aside);
    fs::rename(aside, file);
  } catch (...) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    throw;
  }
}

}  // namespace

void draw(const Figure& figure, const fs::path& file) {
  write_aside(file, [&](const fs::path& aside) {
    library().draw(figure, aside, file.extension() == ".png");
  });
}

void write_pdf(const Document& document, const fs::path& file) {
  write_aside(file, [&](const fs::path& aside) { library().write_pdf(document, aside); });
}

}  // namespace lockstep
