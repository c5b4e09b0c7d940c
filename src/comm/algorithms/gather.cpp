#include "comm/algorithms/gather.h"

namespace lockstep {
namespace {

// Rank at this distance ahead of this one (negative: behind it). Ranks start with different peers,
// so that they do not all send to the same one at the same time.
int at_distance(const Channel& ranks, int distance) {
  return (ranks.rank() + distance + ranks.size()) % ranks.size();
}

}  // namespace

Task gather_by_messages(Channel& ranks, ConstBytes mine, Bytes all, std::vector<int64_t> counts,
                        int root, int tag) {
  if (ranks.rank() != root) {
    co_await ranks.send(mine, root, tag);
    co_return;
  }
  std::vector<Request> arriving;
  for (int distance = 1; distance < ranks.size(); ++distance) {
    const int from = at_distance(ranks, distance);
    arriving.push_back(ranks.receive(block_of(all, counts, from), from, tag));
  }
  for (Request& request : arriving) co_await std::move(request);
}

Task scatter_by_messages(Channel& ranks, ConstBytes all, Bytes mine, std::vector<int64_t> counts,
                         int root, int tag) {
  if (ranks.rank() != root) {
    co_await ranks.receive(mine, root, tag);
    co_return;
  }
  std::vector<Request> leaving;
  for (int distance = 1; distance < ranks.size(); ++distance) {
    const int to = at_distance(ranks, distance);
    leaving.push_back(ranks.send(block_of(all, counts, to), to, tag));
  }
  for (Request& request : leaving) co_await std::move(request);
}

Task all_gather_by_messages(Channel& ranks, Bytes all, std::vector<int64_t> counts, int tag) {
  const ConstBytes mine = block_of(all, counts, ranks.rank());
  std::vector<Request> moving;
  for (int distance = 1; distance < ranks.size(); ++distance) {
    const int from = at_distance(ranks, -distance);
    moving.push_back(ranks.receive(block_of(all, counts, from), from, tag));
    moving.push_back(ranks.send(mine, at_distance(ranks, distance), tag));
  }
  for (Request& request : moving) co_await std::move(request);
}

}  // namespace lockstep
