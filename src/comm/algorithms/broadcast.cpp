#include "comm/algorithms/broadcast.h"

#include <algorithm>
#include <bit>
#include <deque>

namespace lockstep {
namespace {

size_t segments(size_t bytes) { return (bytes + broadcast_segment - 1) / broadcast_segment; }

int64_t log2_above(int64_t ranks) { return std::bit_width(static_cast<uint64_t>(ranks - 1)); }

struct Family {
  int parent = -1;  // -1: the root
  std::vector<int> children;
};

// Places are ranks counted from the root.
Family in_chain(int place, int size) {
  Family family{.parent = place - 1, .children = {}};
  if (place + 1 < size) family.children.push_back(place + 1);
  return family;
}

// The first place of a range sends to the first place of each of two parts of the rest. The cut is
// at the place divisible by the highest power of two: ranks of a node are neighbours, so with root
// 0 few messages leave a node.
Family in_binary_tree(int place, int size) {
  Family family;
  for (int first = 0, last = size - 1; true;) {
    const auto differing = static_cast<unsigned>((first + 1) ^ last);
    const int cut = first + 1 < last ? last & -static_cast<int>(std::bit_floor(differing)) : size;
    if (place == first) {
      if (first < last) family.children.push_back(first + 1);
      if (cut <= last) family.children.push_back(cut);
      return family;
    }
    family.parent = first;
    if (place < cut) {
      first += 1;
      last = std::min(last, cut - 1);
    } else {
      first = cut;
    }
  }
}

Family in_binomial_tree(int place, int size) {
  Family family;
  int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(size)));
  if (place > 0) {
    distance = place & -place;
    family.parent = place - distance;
  }
  while ((distance /= 2) >= 1)
    if (place + distance < size) family.children.push_back(place + distance);
  return family;
}

Family family_of(int place, int size, BroadcastWay way) {
  switch (way) {
    case BroadcastWay::chain:
      return in_chain(place, size);
    case BroadcastWay::binary:
      return in_binary_tree(place, size);
    case BroadcastWay::binomial:
      break;
  }
  return in_binomial_tree(place, size);
}

}  // namespace

BroadcastWay broadcast_way(int64_t ranks, size_t bytes) {
  const auto count = static_cast<int64_t>(segments(bytes));
  if (ranks == 2 || count <= 1) return BroadcastWay::binomial;
  return count + 2 * (ranks - 2) <= 2 * count + 4 * (log2_above(ranks) - 1) ? BroadcastWay::chain
                                                                            : BroadcastWay::binary;
}

Task broadcast_by_messages(Channel& ranks, Bytes data, int root, int tag) {
  const int size = ranks.size(), place = (ranks.rank() - root + size) % size;
  const BroadcastWay way = broadcast_way(size, data.size());
  const Family family = family_of(place, size, way);
  const auto rank_at = [&](int other) { return (other + root) % size; };
  const bool whole = way == BroadcastWay::binomial;
  const size_t count = whole ? 1 : segments(data.size());
  const auto segment = [&](size_t index) {
    if (whole) return data;
    const size_t begin = index * broadcast_segment;
    return data.subspan(begin, std::min(broadcast_segment, data.size() - begin));
  };
  // Few sends are in flight, so that segments arrive in turn; up to 8 receives are posted ahead.
  constexpr size_t expected = 8;
  size_t under_way = 0;
  for (const int child : family.children) under_way += ranks.in_flight(rank_at(child));
  std::deque<Request> arriving, leaving;
  for (size_t i = 0, next = 0; i < count; ++i) {
    if (family.parent >= 0) {
      for (; next < std::min(i + expected, count); ++next)
        arriving.push_back(ranks.receive(segment(next), rank_at(family.parent), tag));
      co_await std::move(arriving.front());
      arriving.pop_front();
    }
    for (const int child : family.children) {
      if (leaving.size() >= under_way) {
        co_await std::move(leaving.front());
        leaving.pop_front();
      }
      leaving.push_back(i > 0 && way == BroadcastWay::chain
                            ? ranks.send_segment(segment(i), rank_at(child), tag, 1)
                            : ranks.send(segment(i), rank_at(child), tag));
    }
  }
  for (Request& request : leaving) co_await std::move(request);
}

}  // namespace lockstep
