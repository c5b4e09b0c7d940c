#pragma once

#include "config/run_config.h"
#include "data/load.h"
#include "sim/profile/costs.h"

namespace lockstep {

// Runs the configuration's network on real samples, `rows` per step and rank, on 1, 2, ... ranks at
// once (as many as have cores), and measures its kernels in place: a kernel's time depends on what
// ran before it and on how sparse its gradients are. Takes about `seconds`.
NetworkCosts measure_network(const RunConfig& config, const DataSplits& data, int64_t rows,
                             int cores, double seconds);

}  // namespace lockstep
