#pragma once

#include <string>

namespace lockstep {

// Fails for a name that could not be the name of one folder: names of runs, studies and points
// become folders, so they may not lead anywhere else. `where` is the file and line, or the option.
void expect_name(const std::string& name, const std::string& where);

// The text as a terminal may show it: control characters (ESC, DEL and C1 included) and bytes that
// are not UTF-8 become \x1b and the like.
std::string printable(const std::string& text);

}  // namespace lockstep
