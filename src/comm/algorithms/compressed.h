#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// In-place all-reduce of values that cross from node to node as 16 bits. The last `exact` floats
// are reduced separately, as they are. Results are bit-identical on all ranks: what a rank has
// summed itself is rounded like what the others receive. `carries`: false in simulations without
// numerics.
Task all_reduce_compressed_by_messages(Channel& ranks, std::span<float> data,
                                       Compression compression, size_t exact, bool carries,
                                       int tag);

}  // namespace lockstep
