#pragma once

#include <string>

namespace lockstep {

// Throws a UserError for a name that cannot be the name of a folder: names of runs, studies and
// points become folders, so they must not be paths. `where` is the file and line, or the option.
void expect_name(const std::string& name, const std::string& where);

// The text made safe for terminals: control characters (ESC, DEL and C1 included) and bytes that
// are not UTF-8 are escaped, as in \x1b.
std::string printable(const std::string& text);

}  // namespace lockstep
