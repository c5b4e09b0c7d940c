#pragma once

#include "report/document.h"

namespace lockstep {

// Says why it could not be written; "" where it was.
std::string draw_pdf(const Document& document, const fs::path& file);

}  // namespace lockstep
