#pragma once

#include "report/document.h"

namespace lockstep {

// Returns the reason if the file could not be written, else "".
std::string draw_pdf(const Document& document, const fs::path& file);

}  // namespace lockstep
