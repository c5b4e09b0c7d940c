#include "comm/algorithms/halving.h"

#include "comm/algorithms/segments.h"

namespace lockstep {

Halves::Halves(std::span<float> data, int rank, int distance) : peer(rank ^ distance) {
  const auto half = [&](int bit) { return (rank & bit) ? 1 : 0; };
  for (int shorter = 1; shorter < distance; shorter *= 2) data = cut(data, 2, half(shorter));
  mine = cut(data, 2, half(distance));
  others = cut(data, 2, 1 - half(distance));
}

Task sum_by_halving(Channel& ranks, std::span<float> data, const SegmentBuffer& buffer, int tag) {
  for (int distance = 1; distance < ranks.size(); distance *= 2) {
    const Halves halves(data, ranks.rank(), distance);
    co_await swap_and_add(ranks, halves.others, halves.peer, halves.mine, halves.peer, buffer, tag);
  }
}

}  // namespace lockstep
