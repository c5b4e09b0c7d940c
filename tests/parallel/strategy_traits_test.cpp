#include <gtest/gtest.h>

#include "base/error.h"
#include "data/data_testing.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

ParallelConfig with(const std::string& name) {
  ParallelConfig config;
  choose_strategy(config, name);
  return config;
}

TEST(StrategyTraits, ServersDoNotTrain) {
  ParallelConfig config = with("parameter-server");
  config.servers = 2;
  EXPECT_EQ(training_ranks(config, 5), 3);
  expect_says(error_of<UserError>([&] { training_ranks(config, 2); }),
              {"parallel.servers = 2", "at least 3 ranks"});
  EXPECT_EQ(training_ranks(with("all-reduce"), 5), 5);
}

TEST(StrategyTraits, ReproducibleShardsMustBeSharedEvenly) {
  ParallelConfig config = with("all-reduce");
  config.mode = Mode::reproducible;
  EXPECT_EQ(training_ranks(config, 4), 4);
  expect_says(error_of<UserError>([&] { training_ranks(config, 3); }), {"parallel.shards = 8"});
}

TEST(StrategyTraits, ChoosingAStrategySetsWhatItNeeds) {
  EXPECT_EQ(with("scatter-gather").parts, Parts::contiguous);
  EXPECT_EQ(with("all-reduce").parts, Parts::shuffled);
  expect_says(error_of<UserError>([] { with("all-reduse"); }), {"all-reduce"});
}

TEST(StrategyTraits, DependOnTheConfiguration) {
  ParallelConfig config = with("average-weights");
  EXPECT_TRUE(traits_of(config).one_model);
  config.average = Averaging::never;
  EXPECT_FALSE(traits_of(config).one_model);
  config.average = Averaging::steps;
  config.average_steps = 5;
  EXPECT_EQ(traits_of(config).period, 5);
  config = with("parameter-server");
  EXPECT_FALSE(traits_of(config).can_clip);
  config.asynchronous = true;
  EXPECT_TRUE(traits_of(config).can_clip);
}

}  // namespace
}  // namespace lockstep
