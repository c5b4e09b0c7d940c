#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"
#include "data/load.h"
#include "sim/costs.h"
#include "sim/near_cores.h"
#include "train/run_config.h"

namespace lockstep {

// Runs the configuration's network on real samples, `rows` a step and rank, on 1, 2, ... ranks at
// once (as many as have cores), and measures its kernels where they are: a kernel's time depends on
// what ran before it and on how sparse its gradients are. Takes about `seconds`.
NetworkCosts measure_costs(const RunConfig& config, const DataSplits& data, int64_t rows, int cores,
                           const NearCores& near, double seconds);

// What two ranks of one machine need for each operation between them, by bytes, and for "work": the
// arithmetic of NearCores, both at once. Both call it.
std::map<std::string, SizeTable> measure_operations(Communicator& ranks);

}  // namespace lockstep
