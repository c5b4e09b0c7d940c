#include "parallel/gradients/largest_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace lockstep {
namespace {

using Entry = LargestValues::Entry;

std::vector<Entry> select(LargestValues& largest, std::span<const float> gradients, size_t at = 0) {
  std::vector<Entry> entries(largest.count(gradients.size()));
  largest.select(gradients, at, entries);
  return entries;
}

std::vector<uint32_t> indices(const std::vector<Entry>& entries) {
  std::vector<uint32_t> all;
  for (const Entry& e : entries) all.push_back(e.index);
  return all;
}

TEST(LargestValues, AreThoseOfLargestSizeInAscendingOrder) {
  LargestValues largest(0.4, 5, {});
  const std::vector<float> gradients = {1, -5, 2, -3, 4};
  EXPECT_EQ(indices(select(largest, gradients)), (std::vector<uint32_t>{1, 4}));
}

TEST(LargestValues, OfEqualSizeTheFirstAreTaken) {
  LargestValues largest(0.5, 6, {});
  const std::vector<float> gradients = {1, -1, 2, 1, 1, -1};
  EXPECT_EQ(indices(select(largest, gradients)), (std::vector<uint32_t>{0, 1, 2}));
}

TEST(LargestValues, AgreeWithASortOnValuesOfAllSizes) {
  std::mt19937 random(1);
  for (const size_t size : {1, 2, 100, 5000}) {
    std::vector<float> gradients(size);
    for (float& g : gradients)
      g = std::ldexp(static_cast<float>(static_cast<int>(random() % 2001) - 1000),
                     static_cast<int>(random() % 60) - 40);
    std::vector<float> sorted = gradients;
    for (float& g : sorted) g = std::abs(g);
    std::ranges::sort(sorted, std::greater<>());
    LargestValues largest(0.1, size, {});
    const std::vector<Entry> entries = select(largest, gradients);
    float smallest = sorted.front();
    for (const Entry& e : entries) {
      EXPECT_EQ(e.value, gradients[e.index]);
      smallest = std::min(smallest, std::abs(e.value));
    }
    EXPECT_EQ(smallest, sorted[entries.size() - 1]);
    EXPECT_TRUE(std::ranges::is_sorted(indices(entries)));
  }
}

// Small integers, so that sums are exact.
TEST(LargestValues, WhatIsNotSentIsSentLater) {
  constexpr size_t size = 40;
  LargestValues largest(0.1, size, {});
  std::mt19937 random(2);
  std::vector<float> all(size), sent(size), none(size);
  for (int step = 0; step < 20; ++step) {
    std::vector<float> gradients(size);
    for (size_t i = 0; i < size; ++i)
      all[i] += gradients[i] = static_cast<float>(random() % 100) - 50;
    add_entries(select(largest, gradients), sent);
  }
  EXPECT_NE(sent, all);
  for (int step = 0; step < 10; ++step) add_entries(select(largest, none), sent);
  EXPECT_EQ(sent, all);
}

TEST(LargestValues, PartsOfTheArenaKeepTheirOwnRest) {
  LargestValues largest(0.5, 4, {});
  EXPECT_EQ(indices(select(largest, std::vector<float>{3, 1}, 0)), (std::vector<uint32_t>{0}));
  EXPECT_EQ(indices(select(largest, std::vector<float>{1, 7}, 2)), (std::vector<uint32_t>{1}));
  EXPECT_EQ(largest.arrays().size(), 1u);
  EXPECT_EQ(std::vector<float>(largest.arrays()[0].begin(), largest.arrays()[0].end()),
            (std::vector<float>{0, 1, 1, 0}));
}

TEST(LargestValues, OfAllValuesWithMomentumAreTheStepsOfSgdWithMomentum) {
  for (const bool nesterov : {false, true}) {
    LargestValues largest(1, 1, {.factor = 0.5f, .nesterov = nesterov});
    float velocity = 0;
    for (const float gradient : {1.0f, 2.0f, -4.0f}) {
      velocity = 0.5f * velocity + gradient;
      const std::vector<Entry> entries = select(largest, std::vector<float>{gradient});
      EXPECT_EQ(entries[0].value, nesterov ? gradient + 0.5f * velocity : velocity);
    }
    EXPECT_EQ(largest.arrays().size(), 2u);
  }
}

}  // namespace
}  // namespace lockstep
