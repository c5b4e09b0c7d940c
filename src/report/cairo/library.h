#pragma once

#include "report/document.h"

namespace lockstep {

// What the library lockstep_figures offers; it is loaded when figures are drawn. Both say why they
// failed, or "": the program has the C++ library linked in, and an exception of this library would
// not be caught there.
struct FigureLibrary {
  std::string (*draw)(const Figure& figure, const fs::path& file, bool png);
  std::string (*write_pdf)(const Document& document, const fs::path& file);
};

}  // namespace lockstep

extern "C" const lockstep::FigureLibrary lockstep_figures_library;
