#pragma once

#include "comm/communicator.h"
#include "train/held_batches.h"

namespace lockstep {

// Measures steady training throughput of several ranks with the configuration's strategy. Rank 0
// prints.
void bench_rank(const RunConfig& config, const HeldBatches& held, double seconds, bool json,
                Communicator& ranks);

}  // namespace lockstep
