#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/posts/follow_graph.h"

namespace lockstep {

// Random posts and follows that resemble those of real public accounts: two camps, topics, words by
// Zipf's law; follows depend on camp, shared topics and popularity.
struct SyntheticPosts {
  std::vector<int32_t> authors;
  std::vector<std::string> texts;
  FollowGraph graph;
};

SyntheticPosts synthetic_posts(int64_t posts, int64_t users, uint64_t seed);

}  // namespace lockstep
