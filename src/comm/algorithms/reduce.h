#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Sum of n floats at the root; the arrays of other ranks are overwritten.
//
//   way      steps                           floats per rank   used for
//   halving  2 log2 p                        at most 1.5 n     powers of two
//   chain    s + 2 (p - 2), of s segments    n                 other numbers of ranks, large arrays
//   tree     log2 p, of the whole array      n                 other numbers of ranks, small arrays
//
// Halving adds neighbouring ranks first, as the all-reduce does. The chain adds segment by segment:
// while one is added, the next is in flight.
enum class ReduceWay { halving, chain, tree };

constexpr size_t chain_segment = 128 * 1024;  // bytes

ReduceWay reduce_way(int64_t ranks, size_t bytes);

Task reduce_by_messages(Channel& ranks, std::span<float> data, int root, int tag);

}  // namespace lockstep
