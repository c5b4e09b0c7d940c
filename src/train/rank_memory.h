#pragma once

#include "config/run_config.h"
#include "nn/network.h"

namespace lockstep {

// What one rank keeps in memory while it trains, in bytes.
struct RankMemory {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, data = 0;
  double sum() const { return weights + gradients + optimizer + activations + data; }
};

// All but its samples, for pieces of so many rows.
RankMemory training_memory(const RunConfig& config, const Network& network, int64_t rows,
                           bool sparse = false);

}  // namespace lockstep
