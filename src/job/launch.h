#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// Starts this program again, with the same words, as ranks under mpiexec, passes signals on, and
// ends this process with their exit code.
[[noreturn]] void launch_ranks(int64_t ranks);

// This program's command line, its path first.
std::vector<std::string> own_words();
// The program as the user typed it; empty in a job that somebody else's mpiexec or srun started.
std::string typed_program();
// A word as a shell takes it: quoted where it must be.
std::string shell_word(const std::string& word);

}  // namespace lockstep
