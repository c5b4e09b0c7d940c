#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "job/hosts.h"

namespace lockstep {

// Starts this program again under mpiexec, with the same arguments, forwards signals to the ranks
// and exits with their exit code. `hosts`: empty: this machine.
[[noreturn]] void launch_ranks(int64_t ranks, const Hosts& hosts = {});
// The same with another program and its arguments.
[[noreturn]] void launch_program(const std::vector<std::string>& program, int64_t ranks,
                                 const Hosts& hosts);

// Arguments of this process; the first is the program's absolute path.
std::vector<std::string> own_words();
// The program's name as the user typed it; empty if the user's own mpiexec or srun started the job.
std::string typed_program();
// A word of a command line, quoted for a shell if necessary.
std::string shell_word(const std::string& word);

}  // namespace lockstep
