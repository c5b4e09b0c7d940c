#include "train/shares.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "data/data_testing.h"

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
  RunConfig config;
  EXPECT_EQ(micro_batch_rows(config, 60'000), 1017);  // 59 of at most 1024
  config.train.micro_batch = 100;
  EXPECT_EQ(micro_batch_rows(config, 100), 100);
  EXPECT_EQ(micro_batch_rows(config, 101), 51);
  EXPECT_EQ(micro_batch_rows(config, 3), 3);
  config.train.batch = 40;
  config.train.accumulate = 3;  // gradients of 40 rows at a time, as without accumulation
  EXPECT_EQ(micro_batch_rows(config, 120), 40);
}

TEST(Shares, PipelinesHaveAFixedNumberOfMicroBatches) {
  RunConfig config;
  config.parallel.pipeline = 3;
  EXPECT_EQ(micro_batch_rows(config, 120), 10);  // 4 per stage
  EXPECT_EQ(micro_batch_rows(config, 121), 11);
  EXPECT_EQ(micro_batch_rows(config, 5), 1);
  config.train.micro_batch = 7;  // more of them, to be small enough
  EXPECT_EQ(micro_batch_rows(config, 120), 7);
  config.parallel.micro_batches = 4;
  const std::string error = error_of<UserError>([&] { micro_batch_rows(config, 120); });
  expect_says(error,
              {"train.micro_batch = 7", "parallel.micro_batches = 4", "disagree", "30 each"});
  config.train.micro_batch = 30;
  config.parallel.pipeline = 1;  // as a pipeline with the same number
  EXPECT_EQ(micro_batch_rows(config, 120), 30);
}

}  // namespace
}  // namespace lockstep
