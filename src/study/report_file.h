#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace lockstep {

// One page about run folders and study folders, in the order given. The file's ending says what it
// is: .html, a table of the runs as .md, .csv or .tex, or their training loss as .svg or .png. What
// cannot be read is returned, and named on the HTML page; a UserError where nothing can.
std::vector<std::string> write_report(const std::vector<fs::path>& folders, const fs::path& out,
                                      const std::string& title);

}  // namespace lockstep
