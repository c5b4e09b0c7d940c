#pragma once

#include <functional>

#include "os/files.h"
#include "report/cairo/library.h"

namespace lockstep {

// The library that draws figures and PDF pages, loaded when first needed.
const FigureLibrary& figure_library();

// Writes to a temporary file first, so that `file` is never incomplete. `write` returns the reason
// of a failure, or "".
void write_aside(const fs::path& file, const std::function<std::string(const fs::path&)>& write);

}  // namespace lockstep
