#pragma once

#include "base/enum_text.h"
#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// In-place all-reduce of n floats on p ranks, on H nodes. Each rank sends:
//
//   way       steps              floats              used for
//   doubling  log2 p             n log2 p            small arrays
//   halving   2 log2 p           2 n (p - 1) / p     powers of two
//   ring      2 (p - 1)          2 n (p - 1) / p     other numbers of ranks
//   by_node   2 (p / H - 1) +    2 n (p - 1) / p,    nodes with several ranks each, other numbers
//             those of H ranks   2 n (H - 1) / H     of ranks: within nodes, then between nodes
//                                leave each node
//
// Every element is summed on one rank and then copied (doubling: summed by all ranks in the same
// order), so results are bit-identical on all ranks. In power-of-two groups neighbouring ranks are
// added first, (0+1)+(2+3): the tree of mode "reproducible".
enum class AllReduceWay { doubling, halving, ring, by_node };
template <>
inline constexpr auto enum_texts<AllReduceWay> =
    std::array{"doubling", "halving", "ring", "by node"};

// Bytes: that the ranks of a node send at once, and within one node, where larger messages of Open
// MPI wait for their receiver.
constexpr size_t largest_doubled = 16 * 1024, largest_doubled_in_node = 2 * 1024;

// `per_node`: see Channel::ranks_per_node().
AllReduceWay all_reduce_way(int64_t ranks, int64_t per_node, size_t bytes);

Task all_reduce_by_doubling(Channel& ranks, std::span<float> data, int tag);
Task all_reduce_by_halving(Channel& ranks, std::span<float> data, int tag);
Task all_reduce_by_ring(Channel& ranks, std::span<float> data, int tag);
Task all_reduce_by_node(Channel& ranks, std::span<float> data, int tag);
Task all_reduce_by_messages(Channel& ranks, std::span<float> data, int tag);

}  // namespace lockstep
