#pragma once

#include <cstdint>

namespace lockstep {

// Starts this program again, with the same words, as ranks under mpiexec, passes signals on, and
// ends this process with their exit code.
[[noreturn]] void launch_ranks(int64_t ranks);

}  // namespace lockstep
