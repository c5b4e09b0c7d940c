#include "train/shares.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lockstep {
namespace {

RunConfig config_with(int64_t batch, BatchOf of, Mode mode = Mode::fast) {
  RunConfig config;
  config.train.batch = batch;
  config.parallel.batch = of;
  config.parallel.mode = mode;
  return config;
}

TEST(Shares, TheBatchCountsSamplesOfARankOrOfAll) {
  EXPECT_EQ(global_batch(config_with(32, BatchOf::rank), 1000, 4), 128);
  EXPECT_EQ(global_batch(config_with(32, BatchOf::all), 1000, 4), 32);
  EXPECT_EQ(global_batch(config_with(0, BatchOf::rank), 1000, 4), 1000);  // full
}

TEST(Shares, AStepHasNoMoreRowsThanThereAreSamples) {
  EXPECT_EQ(rows_per_step(config_with(600, BatchOf::rank), 1000, 4), 1000);
  EXPECT_EQ(rows_per_step(config_with(60, BatchOf::rank), 1000, 4), 240);
}

TEST(Shares, RanksTogetherHaveAllRows) {
  for (const Mode mode : {Mode::fast, Mode::reproducible})
    for (const int64_t ranks : {1, 2, 4, 8}) {
      int64_t all = 0, largest = 0;
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (const int64_t rows :
             shard_rows(config_with(1, BatchOf::all, mode), 101, ranks, rank)) {
          all += rows;
          largest = std::max(largest, rows);
        }
      EXPECT_EQ(all, 101);
      EXPECT_EQ(largest, largest_shard_rows(config_with(1, BatchOf::all, mode), 101, ranks));
    }
}

TEST(Shares, ReproducibleShardsDoNotDependOnTheNumberOfRanks) {
  const RunConfig config = config_with(1, BatchOf::all, Mode::reproducible);
  const std::vector<int64_t> alone = shard_rows(config, 101, 1, 0);
  ASSERT_EQ(alone.size(), 8u);
  for (const int64_t ranks : {2, 4, 8}) {
    std::vector<int64_t> together;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (const int64_t rows : shard_rows(config, 101, ranks, rank)) together.push_back(rows);
    EXPECT_EQ(together, alone) << ranks;
  }
}

TEST(Shares, MicroBatchesAreEqualAndNotTooLarge) {
  TrainConfig train;
  train.micro_batch = 100;
  EXPECT_EQ(micro_batch_rows(train, 100), 100);
  EXPECT_EQ(micro_batch_rows(train, 101), 51);
  EXPECT_EQ(micro_batch_rows(train, 3), 3);
  EXPECT_EQ(micro_batch_rows(TrainConfig{}, 60'000), 1017);  // 59 of at most 1024
  train.batch = 40;
  train.accumulate = 3;  // gradients of 40 rows at a time, as without accumulation
  EXPECT_EQ(micro_batch_rows(train, 120), 40);
}

}  // namespace
}  // namespace lockstep
