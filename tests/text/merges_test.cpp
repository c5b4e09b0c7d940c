#include "text/merges.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace lockstep {
namespace {

// The definition: merges the leftmost pair of the lowest rank until there is none.
std::vector<int32_t> merged_by_rule(const Merges& merges, std::vector<int32_t> tokens) {
  for (;;) {
    const Merges::Merge* best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const Merges::Merge* found = merges.find(tokens[i], tokens[i + 1]);
      if (found && (!best || found->rank < best->rank)) best = found, at = i;
    }
    if (!best) return tokens;
    tokens[at] = best->token;
    tokens.erase(tokens.begin() + static_cast<int64_t>(at) + 1);
  }
}

// Short and long words are merged by different algorithms.
TEST(Merges, OfShortAndLongWordsFollowTheDefinition) {
  Rng rng(4, Purpose::noise);
  for (int round = 0; round < 300; ++round) {
    constexpr int32_t letters = 3;
    constexpr uint64_t count = 30;
    Merges merges(count);
    int32_t next = letters;
    for (uint64_t i = 0; i < count; ++i) {  // each of two existing tokens
      const auto left = static_cast<int32_t>(rng.below(static_cast<uint64_t>(next)));
      const auto right = static_cast<int32_t>(rng.below(static_cast<uint64_t>(next)));
      if (!merges.find(left, right)) merges.add(left, right, next++);
    }
    std::vector<int32_t> tokens;
    for (uint64_t n = rng.below(150); n > 0; --n)
      tokens.push_back(static_cast<int32_t>(rng.below(letters)));
    const std::vector<int32_t> expected = merged_by_rule(merges, tokens);
    merges.apply(tokens);
    ASSERT_EQ(tokens, expected) << round;
  }
}

}  // namespace
}  // namespace lockstep
