#include "train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "nn/nn_testing.h"
#include "os/digests.h"
#include "train/parallel_testing.h"

namespace lockstep {
namespace {

class Checkpoints : public InFolder {
 protected:
  std::vector<KeptCheckpoint> all_of_them() const {
    std::vector<std::string> damaged;
    return kept_checkpoints(folder(), damaged);
  }
};

RunConfig config_for(const std::string& strategy, int64_t ranks) {
  RunConfig config;
  config.model.layers = {"conv 4 3x3", "batchnorm relu", "maxpool 2", "dropout 0.2", "dense 10"};
  config.data = {.name = "mnist-sample", .validation = 0.2, .limit = 300};
  config.train.epochs = 4;
  config.train.batch = 40;
  config.train.keep = Keep::best;
  config.parallel = {
      .ranks = ranks, .backend = Backend::threads, .strategy = strategy, .batch = BatchOf::all};
  return config;
}

// Stops after some steps, resumes, and compares with a run that never stopped.
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

TEST_F(Checkpoints, AResumedRunEndsWithTheSameBits) {
  for (const int64_t ranks : {1, 3})
    for (const int64_t stop_at : {1, 3, 8, 20}) {
      expect_same_end(config_for("all-reduce", ranks), folder() / "a", stop_at);
      fs::remove_all(folder() / "a");
    }
}

TEST_F(Checkpoints, StrategiesWhoseRanksDifferAreResumedToo) {
  RunConfig config = config_for("average-weights", 3);
  config.model.layers = {"dense 30 relu", "dropout 0.2", "dense 10"};
  config.parallel.average = Averaging::steps;
  config.parallel.average_steps = 2;
  expect_same_end(config, folder() / "a", 4);
  fs::remove_all(folder() / "a");
  for (const Averaging when : {Averaging::epoch, Averaging::end, Averaging::never})
    for (const int64_t stop_at : {3, 8, 9}) {
      config.parallel.average = when;
      config.train.keep = when == Averaging::epoch ? Keep::best : Keep::last;
      expect_same_end(config, folder() / "a", stop_at);
      fs::remove_all(folder() / "a");
    }
  config.train.keep = Keep::best;
  config.parallel.strategy = "average-gradients-per-epoch";
  expect_same_end(config, folder() / "a", 2);
  fs::remove_all(folder() / "a");
  config.parallel.strategy = "parameter-server";
  expect_same_end(config, folder() / "a", 9);
}

// What has not been sent yet is part of the checkpoint.
TEST_F(Checkpoints, AResumedRunWithTopKEndsWithTheSameBits) {
  for (const char* strategy : {"all-reduce", "reduce-broadcast", "average-weights"}) {
    RunConfig config = config_for(strategy, 2);
    config.parallel.compress = Compression::top_k;
    config.parallel.compress_share = 0.05;
    expect_same_end(config, folder() / strategy, 8);
  }
}

// As after a kill between the last checkpoint and saving the model.
TEST_F(Checkpoints, ARunWhoseLastCheckpointHasAllEpochsStillEndsWithAModel) {
  for (const char* strategy : {"parameter-server", "average-weights", "all-reduce"}) {
    RunConfig config = config_for(strategy, 3);
    config.model.layers = {"dense 30 relu", "dense 10"};
    config.train.checkpoint_every = 1;
    const ParallelTraining whole(config, folder() / strategy);
    const ParallelTraining rest(config, folder() / strategy, true);
    EXPECT_EQ(rest.weights, whole.weights) << strategy;
    EXPECT_EQ(rest.summary.ending, Ending::finished);
    EXPECT_EQ(rest.summary.epochs, whole.summary.epochs);
    EXPECT_EQ(rest.summary.train_loss, whole.summary.train_loss) << strategy;
    EXPECT_EQ(rest.summary.train_accuracy, whole.summary.train_accuracy);
    EXPECT_EQ(rest.summary.validation->loss, whole.summary.validation->loss);
    EXPECT_EQ(rest.summary.test->loss, whole.summary.test->loss);
  }
}

TEST_F(Checkpoints, AResumedRunThatStoppedEarlyDoesNotTrainAgain) {
  RunConfig config = config_for("average-weights", 2);
  config.model.layers = {"dense 30 relu", "dense 10"};
  config.optimizer.lr = 0.1;  // never improves
  config.train.epochs = 40;
  config.train.early_stopping = 2;
  config.train.checkpoint_every = 1;
  const ParallelTraining whole(config, folder());
  ASSERT_EQ(whole.summary.ending, Ending::early);
  const ParallelTraining rest(config, folder(), true);
  EXPECT_EQ(rest.summary.ending, Ending::early);
  EXPECT_EQ(rest.summary.epochs, whole.summary.epochs);
  EXPECT_EQ(rest.weights, whole.weights);
}

TEST_F(Checkpoints, TheConfiguredNumberOfNewestCheckpointsIsKept) {
  RunConfig config = config_for("all-reduce", 1);
  config.train.checkpoint_every = 5;
  for (const int64_t wanted : {2, 1, 3}) {
    config.train.keep_checkpoints = wanted;
    const ParallelTraining training(config, folder());
    const auto kept = all_of_them();
    ASSERT_EQ(kept.size(), static_cast<size_t>(wanted));
    EXPECT_EQ(kept.front().info.global_step, 30);  // of 32 steps
    EXPECT_EQ(kept.back().info.global_step, 30 - 5 * (wanted - 1));
    for (const auto& entry : fs::directory_iterator(folder())) fs::remove_all(entry.path());
  }
}

TEST_F(Checkpoints, ADamagedCheckpointIsNamedAndSkipped) {
  RunConfig config = config_for("all-reduce", 2);
  config.train.checkpoint_every = 5;
  const ParallelTraining whole(config);
  const ParallelTraining cut(config, folder(), false, 12);
  const fs::path newest = all_of_them().front().folder;
  for (const char* name : {"rank-1.safetensors", "checkpoint.json", "digests.txt"}) {
    const std::vector<uint8_t> before = read_bytes(newest / name);
    for (const size_t at : {before.size() / 3, before.size() - 20}) {
      std::vector<uint8_t> damaged = before;
      damaged[at] ^= 4;
      write_file(newest / name, damaged);
      std::vector<std::string> found;
      EXPECT_EQ(kept_checkpoints(folder(), found).front().info.global_step, 10) << name << at;
      ASSERT_EQ(found.size(), 1u);
      expect_says(found[0], {name, "damaged"});
    }
    write_file(newest / name, before);
  }
  fs::remove(newest / "rank-0.safetensors");
  const ParallelTraining rest(config, folder(), true);
  EXPECT_EQ(rest.weights, whole.weights);
}

TEST_F(Checkpoints, ARunIsNotResumedWithoutAnUndamagedCheckpoint) {
  const RunConfig config = config_for("all-reduce", 1);
  const ParallelTraining cut(config, folder(), false, 3);
  write_file(all_of_them().front().folder / "rank-0.safetensors", "garbage");
  expect_says(error_of<UserError>([&] { ParallelTraining(config, folder(), true); }),
              {"no checkpoint", "can be used", "rank-0.safetensors is damaged"});
}

// Changes a checkpoint on purpose: its digests match.
void change(const fs::path& folder, const KeptCheckpoint& kept,
            const std::function<void(Checkpoint&)>& change) {
  const fs::path path = checkpoint_file(folder, kept.info.global_step, 0);
  Checkpoint checkpoint = load_checkpoint(path);
  change(checkpoint);
  fs::remove(digests_path(kept.folder));
  const uint64_t digest = save_checkpoint(path, checkpoint);
  announce_checkpoint(folder, kept.info, {digest}, "", 1);
}

TEST_F(Checkpoints, ImpossiblePositionsAndSizesAreRefused) {
  RunConfig config = config_for("all-reduce", 1);
  config.model.layers = {"dense 10"};
  const ParallelTraining cut(config, folder(), false, 9);  // in epoch 2 of 8 steps each
  const auto error_with = [&](const std::function<void(Checkpoint&)>& damage) {
    Checkpoint before;
    change(folder(), all_of_them().front(), [&](Checkpoint& c) {
      before = c;
      damage(c);
    });
    const std::string error =
        error_of<UserError>([&] { ParallelTraining(config, folder(), true); });
    change(folder(), all_of_them().front(), [&](Checkpoint& c) { c = before; });
    return error;
  };
  for (const int64_t step : {-5, 1'000'000})
    expect_says(error_with([&](Checkpoint& c) { c.at.step = step; }),
                {"rank-0.safetensors", "not a possible position", std::to_string(step).c_str()});
  for (const int64_t epoch : {-1, 0, 3})
    expect_says(error_with([&](Checkpoint& c) { c.at.epoch = epoch; }), {"possible position"});
  expect_says(error_with([](Checkpoint& c) { c.at.global_step += 1; }), {"possible position"});
  expect_says(error_with([](Checkpoint& c) { c.at.best_epoch = 99; }), {"possible position"});
  for (const char* name : {"best/weights", "best/state", "weights", "optimizer0/1"})
    expect_says(
        error_with([&](Checkpoint& c) { c.arrays[name].resize(c.arrays[name].size() + 7); }),
        {name, "another size"});
  for (const int64_t steps : {int64_t{-3}, INT64_MAX})
    expect_says(error_with([&](Checkpoint& c) { c.counters["optimizer0/steps"] = steps; }),
                {"optimizer0/steps", "not a possible count"});
  const ParallelTraining whole(config), rest(config, folder(), true);  // undamaged again
  EXPECT_EQ(rest.weights, whole.weights);
}

TEST_F(Checkpoints, CheckpointsOfTheFirstVersionAreResumed) {
  const RunConfig config = config_for("all-reduce", 1);
  const ParallelTraining whole(config), cut(config, folder(), false, 9);
  const KeptCheckpoint kept = all_of_them().front();
  std::string info = read_text(kept.folder / "checkpoint.json");  // latest.json, as 0.1.0 wrote it
  const std::string new_key = "keep_checkpoints = 2\\n";
  ASSERT_NE(info.find(new_key), std::string::npos);
  info.erase(info.find(new_key), new_key.size());
  write_file(folder() / "latest.json", info);
  fs::remove(kept.folder / "checkpoint.json");
  fs::remove(digests_path(kept.folder));
  const ParallelTraining rest(config, folder(), true);
  EXPECT_EQ(rest.weights, whole.weights);
}

TEST_F(Checkpoints, MistakesAreExplained) {
  RunConfig config = config_for("all-reduce", 2);
  expect_says(error_of<UserError>([&] { ParallelTraining(config, folder(), true); }),
              {"no checkpoint", "train.checkpoint_every"});
  const ParallelTraining cut(config, folder(), false, 3);
  RunConfig other = config;
  other.parallel.ranks = 3;
  expect_says(error_of<UserError>([&] { ParallelTraining(other, folder(), true); }),
              {"its 2 ranks", "has 3", "--ranks 2"});
  other = config;
  other.train.batch = 20;
  expect_says(error_of<UserError>([&] { ParallelTraining(other, folder(), true); }),
              {"another configuration", "batch = 40", "batch = 20"});
  other = config;
  other.model.layers = {"dense 10"};
  expect_says(error_of<UserError>([&] { ParallelTraining(other, folder(), true); }),
              {"another configuration"});
}

}  // namespace
}  // namespace lockstep
