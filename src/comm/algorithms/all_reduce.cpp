#include "comm/algorithms/all_reduce.h"

#include <algorithm>
#include <bit>

namespace lockstep {
namespace {

template <typename T>
std::span<T> cut(std::span<T> data, int64_t parts, int64_t index) {
  const Part part = part_of(static_cast<int64_t>(data.size()), parts, index);
  return data.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size()));
}

constexpr size_t segment_floats = all_reduce_segment / sizeof(float);

template <typename T>
std::span<T> segment(std::span<T> data, size_t index) {
  const size_t begin = std::min(index * segment_floats, data.size());
  return data.subspan(begin, std::min(segment_floats, data.size() - begin));
}

size_t segments(std::span<const float> data) {
  return (data.size() + segment_floats - 1) / segment_floats;
}

std::vector<Request> send_segments(Channel& ranks, std::span<const float> data, int to, int tag) {
  std::vector<Request> requests;
  for (size_t i = 0; i < segments(data); ++i)
    requests.push_back(ranks.send(std::as_bytes(segment(data, i)), to, tag));
  return requests;
}

std::vector<Request> receive_segments(Channel& ranks, std::span<float> data, int from, int tag) {
  std::vector<Request> requests;
  for (size_t i = 0; i < segments(data); ++i)
    requests.push_back(ranks.receive(std::as_writable_bytes(segment(data, i)), from, tag));
  return requests;
}

}  // namespace

Task all_reduce_by_ring(Channel& ranks, std::span<float> data, int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  const auto buffer =
      std::make_unique_for_overwrite<float[]>(std::min(segment_floats, data.size()));
  // Reduce-scatter: each part travels around the ring, and every rank adds its values.
  for (int step = 0; step < size - 1; ++step) {
    const std::span<float> out = cut(data, size, (rank - step + size) % size);
    const std::span<float> in = cut(data, size, (rank - step - 1 + 2 * size) % size);
    std::vector<Request> sent = send_segments(ranks, out, next, tag);
    for (size_t i = 0; i < segments(in); ++i) {
      const std::span<float> arrived = std::span(buffer.get(), segment(in, i).size());
      co_await ranks.receive(std::as_writable_bytes(arrived), previous, tag);
      ranks.add(segment(in, i), arrived);
    }
    for (Request& request : sent) co_await std::move(request);
  }
  // All-gather: the complete parts travel around the ring once more.
  for (int step = 0; step < size - 1; ++step) {
    const std::span<float> out = cut(data, size, (rank + 1 - step + size) % size);
    const std::span<float> in = cut(data, size, (rank - step + size) % size);
    std::vector<Request> moving = receive_segments(ranks, in, previous, tag);
    for (Request& request : send_segments(ranks, out, next, tag))
      moving.push_back(std::move(request));
    for (Request& request : moving) co_await std::move(request);
  }
}

namespace {

constexpr int everyone = -1;

// Exchanges with peers at distance 1, 2, 4, ...: each rank keeps and sums one half of its remaining
// elements. Then, in reverse order, complete halves go to all ranks or towards the root.
Task by_halving(Channel& ranks, std::span<float> data, int root, int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  const auto buffer =
      std::make_unique_for_overwrite<float[]>(std::min(segment_floats, data.size()));
  std::vector<std::span<float>> wholes;
  std::span<float> mine = data;
  for (int distance = 1; distance < size; distance *= 2) {
    const int peer = rank ^ distance, half = (rank & distance) ? 1 : 0;
    wholes.push_back(mine);
    const std::span<float> keep = cut(mine, 2, half), give = cut(mine, 2, 1 - half);
    std::vector<Request> sent = send_segments(ranks, give, peer, tag);
    for (size_t i = 0; i < segments(keep); ++i) {
      const std::span<float> arrived = std::span(buffer.get(), segment(keep, i).size());
      co_await ranks.receive(std::as_writable_bytes(arrived), peer, tag);
      ranks.add(segment(keep, i), arrived);
    }
    for (Request& request : sent) co_await std::move(request);
    mine = keep;
  }
  for (int distance = size / 2; distance >= 1; distance /= 2) {
    const int peer = rank ^ distance, half = (rank & distance) ? 1 : 0;
    const std::span<float> whole = wholes.back();
    wholes.pop_back();
    const bool away = root != everyone && ((rank ^ root) & distance) != 0;
    std::vector<Request> moving;
    if (!away) moving = receive_segments(ranks, cut(whole, 2, 1 - half), peer, tag);
    if (away || root == everyone)
      for (Request& request : send_segments(ranks, cut(whole, 2, half), peer, tag))
        moving.push_back(std::move(request));
    for (Request& request : moving) co_await std::move(request);
    if (away) co_return;  // its part has been sent
  }
}

Task reduce_by_tree(Channel& ranks, std::span<float> data, int root, int tag) {
  const int size = ranks.size(), place = (ranks.rank() - root + size) % size;
  const auto buffer =
      std::make_unique_for_overwrite<float[]>(std::min(segment_floats, data.size()));
  for (int distance = 1; distance < size; distance *= 2) {
    if (place & distance) {
      for (Request& request : send_segments(ranks, data, (place - distance + root) % size, tag))
        co_await std::move(request);
      co_return;
    }
    if (place + distance >= size) continue;
    for (size_t i = 0; i < segments(data); ++i) {
      const std::span<float> arrived = std::span(buffer.get(), segment(data, i).size());
      co_await ranks.receive(std::as_writable_bytes(arrived), (place + distance + root) % size,
                             tag);
      ranks.add(segment(data, i), arrived);
    }
  }
}

}  // namespace

Task all_reduce_by_halving_doubling(Channel& ranks, std::span<float> data, int tag) {
  return by_halving(ranks, data, everyone, tag);
}

Task reduce_by_messages(Channel& ranks, std::span<float> data, int root, int tag) {
  if (std::has_single_bit(static_cast<unsigned>(ranks.size())))
    return by_halving(ranks, data, root, tag);
  return reduce_by_tree(ranks, data, root, tag);
}

Task reduce_scatter_by_messages(Channel& ranks, std::span<const float> from, std::span<float> to,
                                int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  const size_t most = std::min(segment_floats, to.size());
  const auto buffer = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(size) * most);
  std::vector<Request> sent;
  for (int distance = 1; distance < size; ++distance) {
    const int next = (rank + distance) % size;
    for (Request& request : send_segments(ranks, cut(from, size, next), next, tag))
      sent.push_back(std::move(request));
  }
  for (size_t i = 0; i < segments(to); ++i) {
    const std::span<float> done = segment(to, i);
    const auto of_rank = [&](int r) {
      return std::span(buffer.get() + static_cast<size_t>(r) * most, done.size());
    };
    std::vector<Request> arriving;
    for (int distance = 1; distance < size; ++distance) {
      const int previous = (rank - distance + size) % size;
      arriving.push_back(ranks.receive(std::as_writable_bytes(of_rank(previous)), previous, tag));
    }
    for (Request& request : arriving) co_await std::move(request);
    std::ranges::copy(segment(cut(from, size, rank), i), of_rank(rank).begin());
    for (int distance = 1; distance < size; distance *= 2)  // neighbours first
      for (int r = 0; r + distance < size; r += 2 * distance)
        ranks.add(of_rank(r), of_rank(r + distance));
    std::ranges::copy(of_rank(0), done.begin());
  }
  for (Request& request : sent) co_await std::move(request);
}

Task all_reduce_by_messages(Channel& ranks, std::span<float> data, int tag) {
  if (std::has_single_bit(static_cast<unsigned>(ranks.size())))
    return all_reduce_by_halving_doubling(ranks, data, tag);
  return all_reduce_by_ring(ranks, data, tag);
}

}  // namespace lockstep
