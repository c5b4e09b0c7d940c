#pragma once

#include <filesystem>

namespace lockstep {

// Where lockstep is installed: $LOCKSTEP_PREFIX, or the prefix configured at build time.
std::filesystem::path install_prefix();

// The lockstep program, to start separate processes: MPI ranks, points of a study. This program if
// it is lockstep, else $LOCKSTEP_PROGRAM, one beside it, the installed one, or one on PATH.
std::filesystem::path lockstep_program();

}  // namespace lockstep
