#include "data/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "data/permutation.h"

namespace lockstep {
namespace {

TEST(Partition, EverySampleIsSeenOncePerEpoch) {
  for (const Parts parts : {Parts::shuffled, Parts::contiguous, Parts::strided})
    for (const int64_t ranks : {1, 2, 3, 7}) {
      const Partition partition(parts, 101, 20, ranks, 5);
      std::vector<int64_t> seen;
      for (int64_t r = 0; r < ranks; ++r) {
        const std::vector<int64_t> mine = partition.samples_of(2, r);
        int64_t rows = 0;
        for (int64_t s = 0; s < partition.steps(); ++s) rows += partition.rows_of(s, r);
        EXPECT_EQ(rows, static_cast<int64_t>(mine.size())) << to_text(parts) << ranks;
        seen.insert(seen.end(), mine.begin(), mine.end());
      }
      std::sort(seen.begin(), seen.end());
      EXPECT_EQ(seen, natural_order(101)) << to_text(parts) << ranks;
    }
}

TEST(Partition, ShuffledGlobalBatchesAreTheSameAsOnOneRank) {
  const Partition one(Parts::shuffled, 50, 12, 1, 5), three(Parts::shuffled, 50, 12, 3, 5);
  EXPECT_EQ(one.steps(), 5);
  EXPECT_EQ(three.steps(), 5);
  const std::vector<int64_t> all = one.samples_of(1, 0);
  for (int64_t step = 0; step < 5; ++step) {
    std::vector<int64_t> together;
    for (int64_t r = 0; r < 3; ++r) {
      const std::vector<int64_t> mine = three.samples_of(1, r);
      int64_t before = 0;
      for (int64_t s = 0; s < step; ++s) before += three.rows_of(s, r);
      const auto begin = mine.begin() + before;
      together.insert(together.end(), begin, begin + three.rows_of(step, r));
    }
    const auto begin = all.begin() + step * 12;
    EXPECT_EQ(together, std::vector<int64_t>(begin, begin + one.rows_of(step))) << step;
  }
}

TEST(Partition, OwnPartsAreFixedAndShuffledWithin) {
  const Partition contiguous(Parts::contiguous, 10, 4, 2, 5), strided(Parts::strided, 10, 4, 2, 5);
  std::vector<int64_t> first = contiguous.samples_of(1, 1), second = contiguous.samples_of(2, 1);
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, (std::vector<int64_t>{5, 6, 7, 8, 9}));
  first = strided.samples_of(1, 1);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, (std::vector<int64_t>{1, 3, 5, 7, 9}));
}

TEST(Partition, SharesDifferByOneAtMost) {
  const Partition partition(Parts::shuffled, 100, 13, 4, 1);
  for (int64_t step = 0; step < partition.steps(); ++step) {
    int64_t least = 100, most = 0, all = 0;
    for (int64_t r = 0; r < 4; ++r) {
      least = std::min(least, partition.rows_of(step, r));
      most = std::max(most, partition.rows_of(step, r));
      all += partition.rows_of(step, r);
    }
    EXPECT_LE(most - least, 1);
    EXPECT_EQ(all, partition.rows_of(step));
  }
}

}  // namespace
}  // namespace lockstep
