#pragma once

#include <string>

namespace lockstep {

// Identifies the running kernel: the same for all processes of a machine, whatever containers or
// network namespaces they are in, and different on every other machine and after a restart.
std::string machine_identifier();

}  // namespace lockstep
