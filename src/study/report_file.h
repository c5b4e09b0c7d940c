#pragma once

#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// A report about run folders and study folders, in the order given. The file's ending says what it
// is: .html and .pdf have tables and figures, .md and .tex tables, .csv the table of runs, .svg and
// .png the training loss. What cannot be read is returned, and named on pages; a UserError where
// nothing can, and for another ending.
std::vector<std::string> write_report(const std::vector<fs::path>& folders, const fs::path& out,
                                      const std::string& title);

}  // namespace lockstep
