#pragma once

#include "config/run_config.h"
#include "data/load.h"
#include "sim/profile/costs.h"

namespace lockstep {

// Runs the configuration's network on real samples, `rows` per step and rank, on 1, 2, 4, ... ranks
// at the same time (up to the number that fits the cores). Kernels are measured in place, because a
// kernel's time depends on what ran before it and on how sparse its gradients are. Takes about
// `seconds`.
NetworkCosts measure_network(const RunConfig& config, const DataSplits& data, int64_t rows,
                             int cores, double seconds);

}  // namespace lockstep
