#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Messages are sent in segments that fit the second-level cache: while one is added, the next is in
// flight.
constexpr size_t all_reduce_segment = 512 * 1024;  // bytes

// In-place all-reduce of n floats on p ranks. Each rank sends:
//
//   algorithm          steps         floats            sizes
//   ring               2 (p - 1)     2 n (p - 1) / p   any
//   halving-doubling   2 log2 p      2 n (p - 1) / p   powers of two
//
// Every element is summed on one rank and then copied, so results are bit-identical on all ranks.
// Halving-doubling adds neighbouring ranks first, (0+1)+(2+3): the tree of mode "reproducible".
Task all_reduce_by_ring(Channel& ranks, std::span<float> data, int tag);
Task all_reduce_by_halving_doubling(Channel& ranks, std::span<float> data, int tag);

// Halving-doubling if the number of ranks is a power of two, else the ring.
Task all_reduce_by_messages(Channel& ranks, std::span<float> data, int tag);

// Sum at the root; the arrays of other ranks are overwritten. Power-of-two groups halve as above,
// then send their parts towards the root (fewer than 1.5 n floats per rank, 2 log2 p steps). Other
// groups send whole arrays up a tree (log2 p steps).
Task reduce_by_messages(Channel& ranks, std::span<float> data, int root, int tag);

// `to` receives this rank's part (part_of) of the sum. Each rank sends every peer its part, in
// total n (p - 1) / p floats. Neighbouring ranks are added first, so in power-of-two groups
// reduce-scatter and all-gather give the same bits as all-reduce.
Task reduce_scatter_by_messages(Channel& ranks, std::span<const float> from, std::span<float> to,
                                int tag);

}  // namespace lockstep
