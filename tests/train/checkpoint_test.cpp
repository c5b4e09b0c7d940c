#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include "nn/nn_testing.h"
#include "train/parallel_testing.h"

namespace lockstep {
namespace {

class Checkpoints : public InFolder {};

RunConfig config_for(const std::string& strategy, int64_t ranks) {
  RunConfig config;
  config.model.layers = {"conv 4 3x3", "batchnorm relu", "maxpool 2", "dropout 0.2", "dense 10"};
  config.data = {.name = "mnist-sample", .validation = 0.2, .limit = 300};
  config.train.epochs = 4;
  config.train.batch = 40;
  config.train.keep = "best";
  config.parallel = {.ranks = ranks, .backend = "threads", .strategy = strategy, .batch = "global"};
  return config;
}

// Stops after some steps, goes on from there, and compares with a run that never stopped.
void expect_same_end(const RunConfig& config, const fs::path& folder, int64_t stop_at) {
  const ParallelTraining whole(config);
  const ParallelTraining cut(config, folder, false, stop_at);
  EXPECT_EQ(cut.summary.ending, Ending::interrupted);
  const ParallelTraining rest(config, folder, true);
  EXPECT_EQ(rest.summary.ending, Ending::finished);
  EXPECT_EQ(rest.weights, whole.weights) << config.parallel.strategy << " at " << stop_at;
  EXPECT_EQ(rest.summary.test->loss, whole.summary.test->loss);
  EXPECT_EQ(rest.summary.best_epoch, whole.summary.best_epoch);
  EXPECT_EQ(rest.summary.train_loss, whole.summary.train_loss);
}

TEST_F(Checkpoints, ARunThatGoesOnEndsWithTheSameBits) {
  for (const int64_t ranks : {1, 3})
    for (const int64_t stop_at : {1, 3, 8, 20}) {
      expect_same_end(config_for("all-reduce", ranks), folder() / "a", stop_at);
      fs::remove_all(folder() / "a");
    }
}

TEST_F(Checkpoints, StrategiesWhoseRanksDifferGoOnToo) {
  RunConfig config = config_for("average-weights", 3);
  config.model.layers = {"dense 30 relu", "dropout 0.2", "dense 10"};
  config.parallel.average = "steps";
  config.parallel.average_steps = 2;
  expect_same_end(config, folder() / "a", 4);
  fs::remove_all(folder() / "a");
  for (const char* when : {"epoch", "end", "never"})
    for (const int64_t stop_at : {3, 8, 9}) {
      config.parallel.average = when;
      config.train.keep = std::string(when) == "epoch" ? "best" : "last";
      expect_same_end(config, folder() / "a", stop_at);
      fs::remove_all(folder() / "a");
    }
  config.train.keep = "best";
  config.parallel.strategy = "average-gradients-per-epoch";
  expect_same_end(config, folder() / "a", 2);
  fs::remove_all(folder() / "a");
  config.parallel.strategy = "parameter-server";
  expect_same_end(config, folder() / "a", 9);
}

TEST_F(Checkpoints, OnlyTheNewestIsKept) {
  RunConfig config = config_for("all-reduce", 1);
  config.train.checkpoint_every = 5;
  const ParallelTraining training(config, folder());
  int steps = 0;
  for (const auto& entry : fs::directory_iterator(folder())) steps += entry.is_directory();
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(latest_checkpoint(folder()).global_step, 30);  // of 32
}

TEST_F(Checkpoints, MistakesAreExplained) {
  RunConfig config = config_for("all-reduce", 2);
  expect_says(error_of<UserError>([&] { ParallelTraining(config, folder(), true); }),
              {"no checkpoint", "train.checkpoint_every"});
  const ParallelTraining cut(config, folder(), false, 3);
  RunConfig other = config;
  other.parallel.ranks = 3;
  expect_says(error_of<UserError>([&] { ParallelTraining(other, folder(), true); }),
              {"of 2 ranks", "--ranks 2"});
  other = config;
  other.train.batch = 20;
  expect_says(error_of<UserError>([&] { ParallelTraining(other, folder(), true); }),
              {"another configuration", "batch = 40", "batch = 20"});
  other = config;
  other.model.layers = {"dense 10"};
  expect_says(error_of<UserError>([&] { ParallelTraining(other, folder(), true); }),
              {"another configuration"});
  write_file(checkpoint_file(folder(), latest_checkpoint(folder()).global_step, 0), "garbage");
  EXPECT_THROW(ParallelTraining(config, folder(), true), UserError);
}

}  // namespace
}  // namespace lockstep
