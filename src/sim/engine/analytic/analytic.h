#pragma once

#include "sim/engine/engine.h"

namespace lockstep {

// Seconds that a parameter server takes.
struct ServerCosts {
  double update_a_float = 0, add_a_float = 0;
};

// Runs rank 0 alone; what it does with others takes the time that closed forms give, for as many
// ranks as anybody has. All ranks are taken to be alike and as slow as the slowest.
void run_analytically(const SimulatedJob& job, const ServerCosts& costs,
                      const SimulatedMain& rank_main);

}  // namespace lockstep
