#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace lockstep {

// One HTML page about run folders and study folders, in the order given. What cannot be read is
// named on the page and returned; a UserError where nothing can.
std::vector<std::string> write_report(const std::vector<fs::path>& folders, const fs::path& out,
                                      const std::string& title);

}  // namespace lockstep
