#pragma once

#include "report/document.h"

namespace lockstep {

// Functions of the library lockstep_figures, which is loaded when figures are drawn. Both return
// the reason of a failure, or "". They do not throw: the program links the C++ library statically
// and would not catch an exception of this library.
struct FigureLibrary {
  std::string (*draw)(const Figure& figure, const fs::path& file, FigureFormat format);
  std::string (*write_pdf)(const Document& document, const fs::path& file);
};

}  // namespace lockstep

extern "C" const lockstep::FigureLibrary lockstep_figures_library;
