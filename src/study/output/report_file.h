#pragma once

#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Writes a report about run folders and study folders, in the given order. The extension selects
// the format: .html and .pdf have tables and figures, .md and .tex tables, .csv the table of runs,
// .svg and .png the training loss. Returns what could not be read. Throws a UserError if nothing
// could be read or the extension is unknown.
std::vector<std::string> write_report(const std::vector<fs::path>& folders, const fs::path& out,
                                      const std::string& title);

}  // namespace lockstep
