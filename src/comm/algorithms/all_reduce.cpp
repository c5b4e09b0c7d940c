#include "comm/algorithms/all_reduce.h"

#include <bit>

namespace lockstep {
namespace {

std::span<float> cut(std::span<float> data, int64_t parts, int64_t index) {
  const Part part = part_of(static_cast<int64_t>(data.size()), parts, index);
  return data.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size()));
}

void add(std::span<float> into, const std::vector<float>& from) {
  for (size_t i = 0; i < into.size(); ++i) into[i] += from[i];
}

}  // namespace

Task all_reduce_by_ring(Channel& ranks, std::span<float> data, int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  std::vector<float> arriving(data.size() / static_cast<size_t>(size) + 1);
  // A part travels round the ring and grows by each rank's share ...
  for (int step = 0; step < size - 1; ++step) {
    const std::span<float> out = cut(data, size, (rank - step + size) % size);
    const std::span<float> in = cut(data, size, (rank - step - 1 + 2 * size) % size);
    Request sent = ranks.send(std::as_bytes(out), next, tag);
    co_await ranks.receive(bytes_of(std::span(arriving).first(in.size())), previous, tag);
    add(in, arriving);
    co_await std::move(sent);
  }
  // ... and then, complete, round it once more.
  for (int step = 0; step < size - 1; ++step) {
    const std::span<float> out = cut(data, size, (rank + 1 - step + size) % size);
    const std::span<float> in = cut(data, size, (rank - step + size) % size);
    Request sent = ranks.send(std::as_bytes(out), next, tag);
    co_await ranks.receive(bytes_of(in), previous, tag);
    co_await std::move(sent);
  }
}

Task all_reduce_by_halving_doubling(Channel& ranks, std::span<float> data, int tag) {
  const int size = ranks.size(), rank = ranks.rank();
  std::vector<float> arriving(data.size() / 2 + 1);
  // With the neighbour at distance 1, 2, 4, ...: each keeps and completes one half of what is left.
  std::vector<std::span<float>> wholes;
  std::span<float> mine = data;
  for (int distance = 1; distance < size; distance *= 2) {
    const int peer = rank ^ distance, half = (rank & distance) ? 1 : 0;
    wholes.push_back(mine);
    const std::span<float> keep = cut(mine, 2, half), give = cut(mine, 2, 1 - half);
    Request sent = ranks.send(std::as_bytes(give), peer, tag);
    co_await ranks.receive(bytes_of(std::span(arriving).first(keep.size())), peer, tag);
    add(keep, arriving);
    co_await std::move(sent);
    mine = keep;
  }
  // The same way back, with complete halves.
  for (int distance = size / 2; distance >= 1; distance /= 2) {
    const int peer = rank ^ distance, half = (rank & distance) ? 1 : 0;
    const std::span<float> whole = wholes.back();
    wholes.pop_back();
    Request sent = ranks.send(std::as_bytes(cut(whole, 2, half)), peer, tag);
    co_await ranks.receive(bytes_of(cut(whole, 2, 1 - half)), peer, tag);
    co_await std::move(sent);
  }
}

Task all_reduce_by_messages(Channel& ranks, std::span<float> data, int tag) {
  if (std::has_single_bit(static_cast<unsigned>(ranks.size())))
    return all_reduce_by_halving_doubling(ranks, data, tag);
  return all_reduce_by_ring(ranks, data, tag);
}

}  // namespace lockstep
