#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// `to` receives this rank's part of the sum; rank r's has counts[r] floats. Each rank sends every
// peer its part, in total n (p - 1) / p floats. Neighbouring ranks are added first, so in
// power-of-two groups reduce-scatter and all-gather give the same bits as all-reduce.
Task reduce_scatter_by_messages(Channel& ranks, std::span<const float> from, std::span<float> to,
                                std::vector<int64_t> counts, int tag);

}  // namespace lockstep
