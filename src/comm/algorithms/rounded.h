#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// In-place all-reduce and reduce of values that cross from node to node as 16 bits. The last
// `exact` floats are reduced separately, as they are. Results of all-reduces are bit-identical on
// all ranks: what a rank has summed itself is rounded like what the others receive.
Task all_reduce_rounded_by_messages(Channel& ranks, std::span<float> data, Compression compression,
                                    size_t exact, int tag);
Task reduce_rounded_by_messages(Channel& ranks, std::span<float> data, int root,
                                Compression compression, size_t exact, int tag);

}  // namespace lockstep
