#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// How a broadcast reaches p ranks. Large messages go in n segments, each sent on while the next
// arrives.
//
//   way        steps of one segment      for
//   binomial   log2 p, of the whole    a single segment, or two ranks
//   chain      n + 2 (p - 2)           many segments, few ranks
//   binary     2 n + 4 (log2 p - 1)    many ranks
//
// (Two segments are under way to a rank at a time and share the wire.)
enum class BroadcastWay { binomial, chain, binary };

constexpr size_t broadcast_segment = 128 * 1024;  // bytes

BroadcastWay broadcast_way(int64_t ranks, size_t bytes);

Task broadcast_by_messages(Channel& ranks, Bytes data, int root, int tag);

}  // namespace lockstep
