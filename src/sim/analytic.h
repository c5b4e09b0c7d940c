#pragma once

#include "sim/engine.h"

namespace lockstep {

// Runs rank 0 alone; what it does with others takes the time that closed forms give, for as many
// ranks as anybody has. All ranks are taken to be alike and as slow as the slowest.
// `update_a_float`: seconds that a server takes.
void run_analytically(const SimulatedJob& job, double update_a_float,
                      const SimulatedMain& rank_main);

}  // namespace lockstep
