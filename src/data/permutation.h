#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// The order in which an epoch visits the samples: a function of (size, seed, epoch) alone, the same
// on every rank and after a restart.
std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch);

std::vector<int64_t> natural_order(int64_t size);

}  // namespace lockstep
