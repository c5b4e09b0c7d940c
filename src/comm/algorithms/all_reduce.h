#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Messages are cut into segments that fit the second-level cache: while one is added, the next is
// on its way.
constexpr size_t all_reduce_segment = 512 * 1024;  // bytes

// All-reduce of n floats among p ranks, in place. What each rank sends:
//
//   algorithm          steps         floats            sizes
//   ring               2 (p - 1)     2 n (p - 1) / p   any
//   halving-doubling   2 log2 p      2 n (p - 1) / p   powers of two
//
// Every element is summed in one place and then copied, so all ranks hold the same bits.
// Halving-doubling adds neighbours first, (0+1)+(2+3): the tree of mode "reproducible".
Task all_reduce_by_ring(Channel& ranks, std::span<float> data, int tag);
Task all_reduce_by_halving_doubling(Channel& ranks, std::span<float> data, int tag);

// The better one for this number of ranks.
Task all_reduce_by_messages(Channel& ranks, std::span<float> data, int tag);

// The sum at the root; what the others hold is lost. Powers of two halve as above, and then send
// their parts to the root (below 1.5 n floats, 2 log2 p steps); other sizes send whole arrays up a
// tree (log2 p steps).
Task reduce_by_messages(Channel& ranks, std::span<float> data, int root, int tag);

// `to`: this rank's part (part_of) of the sum. Each rank sends the others their parts: n (p - 1) /
// p floats in p - 1 messages. Parts are added neighbours first, as an all-reduce of a power of two
// adds them: reduce-scatter and all-gather then give its bits.
Task reduce_scatter_by_messages(Channel& ranks, std::span<const float> from, std::span<float> to,
                                int tag);

}  // namespace lockstep
