#include "report/figure.h"

#include "report/drawing.h"

namespace lockstep {

void draw(const Figure& figure, const fs::path& file) {
  write_aside(file, [&](const fs::path& aside) {
    return figure_library().draw(figure, aside, file.extension() == ".png");
  });
}

}  // namespace lockstep
