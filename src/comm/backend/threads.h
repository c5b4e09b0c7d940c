#pragma once

#include <functional>

#include "comm/communicator.h"

namespace lockstep {

// Runs `rank_main` on `size` ranks that are threads of this process, and returns when all have
// ended. When one throws, the others' waits end too, and its error is passed on.
void run_thread_ranks(int size, double timeout,
                      const std::function<void(Communicator&)>& rank_main);

}  // namespace lockstep
