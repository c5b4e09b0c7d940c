#pragma once

#include "config/run_config.h"
#include "nn/network.h"

namespace lockstep {

// Memory of one rank while it trains, in bytes.
struct RankMemory {
  double weights = 0, gradients = 0, optimizer = 0, activations = 0, data = 0;
  double sum() const { return weights + gradients + optimizer + activations + data; }
};

// Everything but the samples; `rows`: rows per micro-batch.
RankMemory training_memory(const RunConfig& config, const Network& network, int64_t rows,
                           bool sparse = false);

}  // namespace lockstep
