#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Algorithms for a broadcast to p ranks. Large messages are sent in n segments; each is forwarded
// while the next arrives.
//
//   way        steps, one segment each   used for
//   binomial   log2 p, whole message     a single segment, or two ranks
//   chain      n + 2 (p - 2)             many segments, few ranks
//   binary     2 n + 4 (log2 p - 1)      many ranks
//
// (Two segments per receiver are in flight at a time and share the link.)
enum class BroadcastWay { binomial, chain, binary };

constexpr size_t broadcast_segment = 128 * 1024;  // bytes

BroadcastWay broadcast_way(int64_t ranks, size_t bytes);

Task broadcast_by_messages(Channel& ranks, Bytes data, int root, int tag);

}  // namespace lockstep
