// A run goes on with another mesh than it was saved with.

#include "train/parallel_testing.h"

namespace lockstep {
namespace {

class MeshCheckpoints : public InFolder {};

struct Sizes {
  int64_t replicas, stages;
};

RunConfig config_for(const Sizes& mesh) {
  RunConfig config;
  config.model.layers = {"dense 40 relu", "dropout 0.3",   "dense 30 tanh",
                         "layernorm",     "dense 20 relu", "dense 10"};
  config.data = {.name = "mnist-sample", .validation = 0.2, .limit = 150};
  config.train.epochs = 3;
  config.train.batch = 40;
  config.train.clip_norm = 0.5;
  config.train.keep = Keep::best;
  config.parallel = {.ranks = mesh.replicas * mesh.stages,
                     .backend = Backend::threads,
                     .mode = Mode::reproducible,
                     .batch = BatchOf::all};
  config.parallel.pipeline = mesh.stages;
  config.parallel.micro_batches = 2;
  return config;
}

// Trains to the end, or until a step, and returns the whole network's weights.
struct MeshRun {
  std::vector<float> weights;
  Summary summary;

  MeshRun(const RunConfig& config, const fs::path& checkpoints, bool resumes, int64_t stop_at = 0) {
    const DataSplits data = load_data(config.data, 1);
    Record record;
    record.stop_at = stop_at;
    run_thread_ranks(static_cast<int>(config.parallel.ranks), 60, [&](Communicator& ranks) {
      const WallClock clock;
      const auto device = make_test_device(config.device);
      Observer silent;
      Trainer trainer(config, ranks, *device, clock, data,
                      ranks.rank() == 0 ? static_cast<Observer&>(record) : silent);
      trainer.keep_checkpoints_in({.folder = checkpoints});
      if (resumes) trainer.resume(checkpoints);
      const Summary mine = trainer.run(record.stop);
      const std::optional<Parameters> whole = trainer.collect();
      if (ranks.rank() != 0) return;
      weights = copy_of((whole ? *whole : trainer.parameters()).weights_on_host());
      summary = mine;
    });
  }
};

TEST_F(MeshCheckpoints, AreResumedOnAnyMesh) {
  const std::vector<Sizes> meshes = {{1, 1}, {1, 3}, {2, 2}, {4, 1}};
  const MeshRun whole(config_for({1, 1}), folder() / "whole", false);
  int runs = 0;
  for (const Sizes& before : meshes) {
    const fs::path place = folder() / fmt::format("cut-{}", runs++);
    const MeshRun cut(config_for(before), place, false, 5);
    EXPECT_EQ(cut.summary.ending, Ending::interrupted);
    for (const Sizes& after : meshes) {
      const fs::path copy = folder() / fmt::format("rest-{}", runs++);
      fs::copy(place, copy, fs::copy_options::recursive);
      const MeshRun rest(config_for(after), copy, true);
      EXPECT_EQ(rest.weights, whole.weights) << before.replicas << "x" << before.stages << " to "
                                             << after.replicas << "x" << after.stages;
      EXPECT_NEAR(rest.summary.test->loss, whole.summary.test->loss, 1e-6);
      EXPECT_EQ(rest.summary.best_epoch, whole.summary.best_epoch);
    }
  }
}

TEST_F(MeshCheckpoints, AreRefusedWhereAStepWouldHaveOtherSamples) {
  RunConfig config = config_for({2, 2});
  config.parallel.mode = Mode::fast;
  config.parallel.batch = BatchOf::rank;
  const MeshRun cut(config, folder(), false, 2);
  RunConfig other = config;
  other.parallel.ranks = 4;
  other.parallel.pipeline = 1;
  expect_says(error_of<UserError>([&] { MeshRun(other, folder(), true); }),
              {"data=2, pipeline=2", "data=4, pipeline=1", "--ranks 2", "global"});
  other.parallel.ranks = 2;  // as many replicas
  EXPECT_EQ(MeshRun(other, folder(), true).summary.ending, Ending::finished);
}

TEST_F(MeshCheckpoints, WithAFilePerRankFitTheirMeshOnly) {
  RunConfig config = config_for({1, 2});
  config.parallel.mode = Mode::fast;
  config.model.layers = {"dense 30", "batchnorm relu", "dense 20 relu", "dense 10"};
  const MeshRun whole(config, folder() / "whole", false);
  const MeshRun cut(config, folder() / "cut", false, 5);
  RunConfig other = config;
  other.parallel.ranks = 1;
  other.parallel.pipeline = 1;
  expect_says(error_of<UserError>([&] { MeshRun(other, folder() / "cut", true); }),
              {"a file for each of its 2 ranks", "--ranks 2 --mesh pipeline=2"});
  EXPECT_EQ(MeshRun(config, folder() / "cut", true).weights, whole.weights);
}

}  // namespace
}  // namespace lockstep
