#include "report/document.h"

#include "report/drawing.h"

namespace lockstep {

void write_pdf(const Document& document, const fs::path& file) {
  write_aside(file,
              [&](const fs::path& aside) { return figure_library().write_pdf(document, aside); });
}

}  // namespace lockstep
