#pragma once

#include <numeric>

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Rank r's block of `all`. Offsets have 64 bits because large networks need them.
template <typename B>
B block_of(B all, std::span<const int64_t> counts, int r) {
  const int64_t begin = std::accumulate(counts.begin(), counts.begin() + r, int64_t{0});
  return all.subspan(static_cast<size_t>(begin),
                     static_cast<size_t>(counts[static_cast<size_t>(r)]));
}

// Each block is sent directly from its owner to its destination: p - 1 messages at the root, or at
// every rank of an all-gather, all in flight at the same time. The caller has already copied the
// root's own block (all-gather: each rank's). The task keeps the counts.
Task gather_by_messages(Channel& ranks, ConstBytes mine, Bytes all, std::vector<int64_t> counts,
                        int root, int tag);
Task scatter_by_messages(Channel& ranks, ConstBytes all, Bytes mine, std::vector<int64_t> counts,
                         int root, int tag);
Task all_gather_by_messages(Channel& ranks, Bytes all, std::vector<int64_t> counts, int tag);

}  // namespace lockstep
