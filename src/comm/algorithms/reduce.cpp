#include "comm/algorithms/reduce.h"

#include <bit>
#include <deque>
#include <memory>

#include "comm/algorithms/halving.h"
#include "comm/algorithms/segments.h"
#include "comm/algorithms/swap.h"

namespace lockstep {
namespace {

Task reduce_by_halving(Channel& ranks, std::span<float> data, int root, int tag) {
  const SegmentBuffer buffer(data.size());
  co_await sum_by_halving(ranks, data, buffer, tag);
  const std::span<float> none;
  for (int distance = ranks.size() / 2; distance >= 1; distance /= 2) {
    const Halves halves(data, ranks.rank(), distance);
    if ((ranks.rank() ^ root) & distance) {  // the peer is nearer to the root
      co_await swap(ranks, halves.mine, halves.peer, none, halves.peer, tag);
      co_return;
    }
    co_await swap(ranks, none, halves.peer, halves.others, halves.peer, tag);
  }
}

// Places are ranks counted from the root; each adds what arrives from the place behind it.
Task reduce_by_chain(Channel& ranks, std::span<float> data, int root, int tag) {
  const int size = ranks.size(), place = (ranks.rank() - root + size) % size;
  const auto rank_at = [&](int other) { return (other + root) % size; };
  const Segments segments(data, chain_segment);
  constexpr size_t expected = 2;  // receives posted ahead
  const size_t most = segments.largest();
  const auto buffers = std::make_unique_for_overwrite<float[]>(expected * most);
  const auto buffer = [&](size_t i) {
    return std::span(buffers.get() + i % expected * most, segments.at(i).size());
  };
  std::deque<Request> arriving, leaving;
  const auto receive = [&](size_t i) {
    if (place + 1 < size && i < segments.count())
      arriving.push_back(ranks.receive(std::as_writable_bytes(buffer(i)), rank_at(place + 1), tag));
  };
  for (size_t i = 0; i < expected; ++i) receive(i);
  for (size_t i = 0; i < segments.count(); ++i) {
    if (place + 1 < size) {
      co_await std::move(arriving.front());
      arriving.pop_front();
      ranks.add(segments.at(i), buffer(i));
      receive(i + expected);
    }
    if (place == 0) continue;
    const int to = rank_at(place - 1);
    if (leaving.size() == ranks.in_flight(to)) {
      co_await std::move(leaving.front());
      leaving.pop_front();
    }
    const ConstBytes segment = std::as_bytes(segments.at(i));
    leaving.push_back(i > 0 ? ranks.send_segment(segment, to, tag, 1)
                            : ranks.send(segment, to, tag));
  }
  for (Request& request : leaving) co_await std::move(request);
}

Task reduce_by_tree(Channel& ranks, std::span<float> data, int root, int tag) {
  const int size = ranks.size(), place = (ranks.rank() - root + size) % size;
  const auto rank_at = [&](int other) { return (other + root) % size; };
  const SegmentBuffer buffer(data.size());
  const std::span<float> none;
  for (int distance = 1; distance < size; distance *= 2) {
    if (place & distance) {
      const int to = rank_at(place - distance);
      co_await swap(ranks, data, to, none, to, tag);
      co_return;
    }
    if (place + distance >= size) continue;
    const int from = rank_at(place + distance);
    co_await swap_and_add(ranks, none, from, data, from, buffer, tag);
  }
}

}  // namespace

ReduceWay reduce_way(int64_t ranks, size_t bytes) {
  if (std::has_single_bit(static_cast<uint64_t>(ranks))) return ReduceWay::halving;
  const auto segments = static_cast<int64_t>((bytes + chain_segment - 1) / chain_segment);
  const int64_t levels = std::bit_width(static_cast<uint64_t>(ranks - 1));
  return segments + 2 * (ranks - 2) < levels * segments ? ReduceWay::chain : ReduceWay::tree;
}

Task reduce_by_messages(Channel& ranks, std::span<float> data, int root, int tag) {
  switch (reduce_way(ranks.size(), data.size_bytes())) {
    case ReduceWay::halving:
      return reduce_by_halving(ranks, data, root, tag);
    case ReduceWay::chain:
      return reduce_by_chain(ranks, data, root, tag);
    case ReduceWay::tree:
      break;
  }
  return reduce_by_tree(ranks, data, root, tag);
}

}  // namespace lockstep
