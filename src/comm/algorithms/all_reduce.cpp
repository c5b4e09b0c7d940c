#include "comm/algorithms/all_reduce.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "comm/algorithms/halving.h"
#include "comm/algorithms/segments.h"
#include "comm/algorithms/swap.h"

namespace lockstep {
namespace {

// Some of a channel's ranks, as a group.
class Members final : public Channel {
 public:
  // Ranks first, first + stride, ...
  Members(Channel& ranks, int first, int stride, int size)
      : ranks_(ranks), first_(first), stride_(stride), size_(size) {}
  int rank() const override { return (ranks_.rank() - first_) / stride_; }
  int size() const override { return size_; }
  int node_of(int member) const override { return ranks_.node_of(of(member)); }
  Request send(ConstBytes data, int to, int tag) override { return ranks_.send(data, of(to), tag); }
  Request receive(Bytes data, int from, int tag) override {
    return ranks_.receive(data, of(from), tag);
  }
  void round_as_sent(std::span<float> values) override { ranks_.round_as_sent(values); }
  void add(std::span<float> into, std::span<const float> from) override { ranks_.add(into, from); }

 private:
  int of(int member) const { return first_ + stride_ * member; }

  Channel& ranks_;
  int first_, stride_, size_;
};

// Rank, or number of a part of the data, at this offset from the calling rank, around the ring.
int around_ring(const Channel& ranks, int offset) {
  return ((ranks.rank() + offset) % ranks.size() + ranks.size()) % ranks.size();
}

// Each part travels around the ring, and every rank adds its values. Rank r ends with part r + 1.
Task sum_around_ring(Channel& ranks, std::span<float> data, int tag) {
  const int size = ranks.size(), next = around_ring(ranks, 1), previous = around_ring(ranks, -1);
  const SegmentBuffer buffer(data.size() / static_cast<size_t>(size) + 1);  // the largest part
  for (int step = 0; step < size - 1; ++step)
    co_await swap_and_add(ranks, cut(data, size, around_ring(ranks, -step)), next,
                          cut(data, size, around_ring(ranks, -step - 1)), previous, buffer, tag);
}

// The complete parts travel around the ring once more.
Task copy_around_ring(Channel& ranks, std::span<float> data, int tag) {
  const int size = ranks.size(), next = around_ring(ranks, 1), previous = around_ring(ranks, -1);
  for (int step = 0; step < size - 1; ++step)
    co_await swap(ranks, cut(data, size, around_ring(ranks, 1 - step)), next,
                  cut(data, size, around_ring(ranks, -step)), previous, tag);
}

}  // namespace

AllReduceWay all_reduce_way(int64_t ranks, int64_t per_node, size_t bytes) {
  const size_t of_node = bytes * static_cast<size_t>(std::max<int64_t>(1, per_node));
  if (per_node == ranks ? bytes <= largest_doubled_in_node : of_node <= largest_doubled)
    return AllReduceWay::doubling;
  if (std::has_single_bit(static_cast<uint64_t>(ranks))) return AllReduceWay::halving;
  return per_node > 1 && per_node < ranks ? AllReduceWay::by_node : AllReduceWay::ring;
}

// If the number of ranks is not a power of two, the first pairs of ranks begin as one: the odd rank
// sends its data to the even one, and receives the result.
Task all_reduce_by_doubling(Channel& ranks, std::span<float> data, int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  const int most = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
  const int pairs = size - most;
  const std::span<float> none;
  if (rank < 2 * pairs && rank % 2 == 1) {
    co_await swap(ranks, data, rank - 1, none, rank - 1, tag);
    co_await swap(ranks, none, rank - 1, data, rank - 1, tag);
    co_return;
  }
  const SegmentBuffer buffer(data.size());
  if (rank < 2 * pairs) co_await swap_and_add(ranks, none, rank + 1, data, rank + 1, buffer, tag);
  const int place = rank < 2 * pairs ? rank / 2 : rank - pairs;
  std::vector<float> leaving(data.size());  // is not changed while it is sent
  for (int distance = 1; distance < most; distance *= 2) {
    const int other = place ^ distance, peer = other < pairs ? 2 * other : other + pairs;
    ranks.round_as_sent(data);  // both add the same values
    std::ranges::copy(data, leaving.begin());
    co_await swap_and_add(ranks, leaving, peer, data, peer, buffer, tag);
  }
  if (rank < 2 * pairs) co_await swap(ranks, data, rank + 1, none, rank + 1, tag);
}

Task all_reduce_by_halving(Channel& ranks, std::span<float> data, int tag) {
  const SegmentBuffer buffer(data.size());
  co_await sum_by_halving(ranks, data, buffer, tag);
  for (int distance = ranks.size() / 2; distance >= 1; distance /= 2) {
    const Halves halves(data, ranks.rank(), distance);
    co_await swap(ranks, halves.mine, halves.peer, halves.others, halves.peer, tag);
  }
}

Task all_reduce_by_ring(Channel& ranks, std::span<float> data, int tag) {
  co_await sum_around_ring(ranks, data, tag);
  co_await copy_around_ring(ranks, data, tag);
}

// The ranks of a node sum one part each; each then reduces its part with the ranks that have the
// same part on other nodes.
Task all_reduce_by_node(Channel& ranks, std::span<float> data, int tag) {
  const int here = ranks.ranks_per_node();
  ENSURE(here > 0);
  const int nodes = ranks.size() / here;
  Members node(ranks, ranks.rank() - ranks.rank() % here, 1, here);
  Members across(ranks, ranks.rank() % here, here, nodes);
  co_await sum_around_ring(node, data, tag);
  co_await all_reduce_by_messages(across, cut(data, here, around_ring(node, 1)), tag);
  co_await copy_around_ring(node, data, tag);
}

Task all_reduce_by_messages(Channel& ranks, std::span<float> data, int tag) {
  switch (all_reduce_way(ranks.size(), ranks.ranks_per_node(), data.size_bytes())) {
    case AllReduceWay::doubling:
      return all_reduce_by_doubling(ranks, data, tag);
    case AllReduceWay::halving:
      return all_reduce_by_halving(ranks, data, tag);
    case AllReduceWay::by_node:
      return all_reduce_by_node(ranks, data, tag);
    case AllReduceWay::ring:
      break;
  }
  return all_reduce_by_ring(ranks, data, tag);
}

}  // namespace lockstep
