#pragma once

#include <functional>

#include "comm/communicator.h"

namespace lockstep {

// Runs `rank_main` on `size` ranks that are threads of this process, and returns when all have
// ended. If one throws, the waits of the others fail too, and the first error is rethrown.
void run_thread_ranks(int size, double timeout,
                      const std::function<void(Communicator&)>& rank_main);

}  // namespace lockstep
