#pragma once

#include <string>

#include "os/files.h"

namespace lockstep {

// A control group of the kernel whose processes may use `cores` (a fraction, or several) of the
// processor. Returns the file to write process ids to; empty if this system has no such groups or
// does not permit one.
fs::path limit_cpu(const std::string& group, double cores);
// Removes a group without processes.
void remove_cpu_limit(const std::string& group);

}  // namespace lockstep
