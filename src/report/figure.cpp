#include "report/figure.h"

#include "report/drawing.h"

namespace lockstep {

void draw(const Figure& figure, const fs::path& file) {
  write_aside(file, [&](const fs::path& aside) {
    const fs::path ending = file.extension();
    return figure_library().draw(figure, aside,
                                 ending == fs::path(".png")   ? FigureFormat::png
                                 : ending == fs::path(".pdf") ? FigureFormat::pdf
                                                              : FigureFormat::svg);
  });
}

}  // namespace lockstep
