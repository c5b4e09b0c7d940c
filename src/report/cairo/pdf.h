#pragma once

#include "report/document.h"

namespace lockstep {

void draw_pdf(const Document& document, const fs::path& file);

}  // namespace lockstep
