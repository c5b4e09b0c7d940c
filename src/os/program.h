#pragma once

#include <filesystem>

namespace lockstep {

// Where lockstep is installed: $LOCKSTEP_PREFIX, or where it was built to be installed.
std::filesystem::path install_prefix();

// The lockstep program, for what needs processes of its own: MPI ranks, points of a study. This
// program if it is lockstep, $LOCKSTEP_PROGRAM, the installed one, or the one on the PATH.
std::filesystem::path lockstep_program();

}  // namespace lockstep
