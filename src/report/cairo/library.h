#pragma once

#include "report/document.h"

namespace lockstep {

// What the library lockstep_figures offers; it is loaded when figures are drawn.
struct FigureLibrary {
  void (*draw)(const Figure& figure, const fs::path& file, bool png);
  void (*write_pdf)(const Document& document, const fs::path& file);
};

}  // namespace lockstep

extern "C" const lockstep::FigureLibrary lockstep_figures_library;
