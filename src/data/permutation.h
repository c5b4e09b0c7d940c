#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// The order in which an epoch visits the samples: a function of its arguments alone, the same after
// a restart. Ranks that shuffle parts of their own give their number.
std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch, int64_t rank = 0);

std::vector<int64_t> natural_order(int64_t size);

}  // namespace lockstep
