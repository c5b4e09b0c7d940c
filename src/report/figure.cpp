#include "report/figure.h"

#include "base/library.h"
#include "report/cairo/library.h"

namespace lockstep {

void draw(const Figure& figure, const fs::path& file) {
  static const FigureLibrary* loaded =
      load_library<FigureLibrary>("lockstep_figures.so", "lockstep_figures_library");
  const fs::path aside = file.string() + ".new";
  loaded->draw(figure, aside, file.extension() == ".png");
  fs::rename(aside, file);
}

}  // namespace lockstep
