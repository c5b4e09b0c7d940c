#pragma once

#include "sim/engine/engine.h"

namespace lockstep {

// Costs of a parameter server, seconds per float.
struct ServerCosts {
  double update_per_float = 0, add_per_float = 0;
};

// Runs only rank 0; its communication takes the time that closed forms give, for any number of
// ranks. All ranks are assumed to be the same and as slow as the slowest.
void run_analytically(const SimulatedJob& job, const ServerCosts& costs,
                      const SimulatedMain& rank_main);

}  // namespace lockstep
