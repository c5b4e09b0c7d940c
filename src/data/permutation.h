#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

// The order in which an epoch visits the samples. It depends only on the arguments, so it is the
// same after a restart. Ranks that shuffle their own part pass their rank.
std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch, int64_t rank = 0);

std::vector<int64_t> natural_order(int64_t size);

}  // namespace lockstep
