#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/posts/follow_graph.h"

namespace lockstep {

// Posts and follows that look like a real set of one kind of public accounts: two camps, topics,
// words by Zipf's law, follows by camp, shared topics and popularity.
struct SyntheticPosts {
  std::vector<int32_t> authors;
  std::vector<std::string> texts;
  FollowGraph graph;
};

SyntheticPosts synthetic_posts(int64_t posts, int64_t users, uint64_t seed);

}  // namespace lockstep
