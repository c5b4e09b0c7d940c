// Random numbers as functions of their keys.

#include "base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace lockstep {
namespace {

std::vector<uint32_t> first_numbers(Rng rng) {
  std::vector<uint32_t> numbers;
  for (int i = 0; i < 16; ++i) numbers.push_back(rng.next());
  return numbers;
}

TEST(Rng, TheSameKeyGivesTheSameNumbers) {
  EXPECT_EQ(first_numbers({1, Purpose::shuffle, 2, 3}), first_numbers({1, Purpose::shuffle, 2, 3}));
}

TEST(Rng, EveryPartOfTheKeyMatters) {
  std::set<std::vector<uint32_t>> streams;
  for (const uint64_t seed : {0, 1, 2})
    for (const Purpose purpose :
         {Purpose::initial_weights, Purpose::shuffle, Purpose::split, Purpose::dropout})
      for (const uint64_t a : {0, 1, 2})
        for (const uint64_t b : {0, 1, 2}) streams.insert(first_numbers({seed, purpose, a, b}));
  EXPECT_EQ(streams.size(), 3u * 4 * 3 * 3);
}

TEST(Rng, BlocksGiveNumbersByIndex) {
  Rng rng(1, Purpose::dropout);
  const std::vector<uint32_t> numbers = first_numbers(rng);
  for (uint64_t block = 0; block < 4; ++block)
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(rng.block(block)[i], numbers[block * 4 + i]);
}

TEST(Rng, UniformNumbersFillTheIntervalEvenly) {
  Rng rng(1, Purpose::split);
  std::vector<int> tenths(10);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = rng.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++tenths[static_cast<size_t>(value * 10)];
    sum += value;
  }
  for (const int count : tenths) EXPECT_NEAR(count, 10'000, 400);
  EXPECT_NEAR(sum / 100'000, 0.5, 0.004);
}

TEST(Rng, NormalNumbersHaveMeanZeroAndDeviationOne) {
  Rng rng(1, Purpose::split);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = rng.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 100'000, 0, 0.015);
  EXPECT_NEAR(squares / 100'000, 1, 0.02);
}

TEST(Rng, BelowIsUniformAndInRange) {
  Rng rng(1, Purpose::split);
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 70'000; ++i) ++counts[rng.below(7)];
  EXPECT_EQ(counts.size(), 7u);
  for (const auto& [value, count] : counts) {
    EXPECT_LT(value, 7u);
    EXPECT_NEAR(count, 10'000, 400);
  }
  EXPECT_EQ(rng.below(1), 0u);
}

TEST(Shuffle, KeepsEveryItemAndChangesTheOrder) {
  std::vector<int64_t> items(1000);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int64_t> shuffled = items;
  Rng rng(1, Purpose::shuffle);
  shuffle(shuffled, rng);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

}  // namespace
}  // namespace lockstep
