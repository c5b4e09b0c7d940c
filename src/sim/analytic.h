#pragma once

#include "sim/engine.h"

namespace lockstep {

// Runs rank 0 alone; what it does with others takes the time that closed forms give, for as many
// ranks as anybody has. All ranks are taken to be alike and as slow as the slowest.
// `update_seconds`: of a server that updates all parameters.
void run_analytically(const SimulatedJob& job, double update_seconds,
                      const SimulatedMain& rank_main);

// Seconds of an all-reduce when nothing else goes on, by the algorithm that real runs take.
double all_reduce_seconds(const SimulatedJob& job, double bytes);

}  // namespace lockstep
