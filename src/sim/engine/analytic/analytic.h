#pragma once

#include "sim/engine/engine.h"

namespace lockstep {

// Synchronous parameter servers: the last ranks. Costs are in seconds per float.
struct ServerCosts {
  int64_t servers = 0;
  double update_per_float = 0, add_per_float = 0;
};

// Runs only rank 0; its communication takes the time that closed forms give, for any number of
// ranks. All ranks are assumed to be the same and as slow as the slowest.
void run_analytically(const SimulatedJob& job, const ServerCosts& costs,
                      const SimulatedMain& rank_main);

}  // namespace lockstep
