#include "data/posts/follow_graph.h"

#include <algorithm>
#include <cmath>

#include "base/rng.h"

namespace lockstep {

bool FollowGraph::has_groups() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const auto& g) { return !g.empty(); });
}

int64_t FollowGraph::edges() const {
  return static_cast<int64_t>(
      std::count_if(edges_.begin(), edges_.end(), [](uint8_t e) { return e != 0; }));
}

int64_t FollowGraph::hidden(int64_t user) const {
  int64_t count = 0;
  for (int64_t other = 0; other < size(); ++other) count += hides(user, other);
  return count;
}

void FollowGraph::hide(double share, uint64_t seed) {
  constexpr uint64_t stream = 32;
  for (int64_t user = 0; user < size(); ++user) {
    std::vector<int64_t> followees;
    for (int64_t other = 0; other < size(); ++other)
      if (follows(user, other)) followees.push_back(other);
    Rng rng(seed, Purpose::split, stream, static_cast<uint64_t>(user));
    shuffle(followees, rng);
    followees.resize(
        static_cast<size_t>(std::llround(share * static_cast<double>(followees.size()))));
    for (const int64_t other : followees) edge(user, other) = hidden_edge;
  }
}

}  // namespace lockstep
