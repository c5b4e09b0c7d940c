#pragma once

#include <string>

#include "comm/communicator.h"

namespace lockstep {

// Measures the links between the host of rank 0 and those of the others, one after the other, and
// the cores, memory and relative speed of each host. All ranks call it, one per host. Returns a
// cluster file on rank 0, with what was measured in comments; empty on the others.
std::string measure_links(Communicator& ranks, const std::string& name);

}  // namespace lockstep
