// The same configuration gives the same weights, bit by bit, however it is run.

#include "nn/nn_testing.h"
#include "train/record/run_folder.h"
#include "train/train_testing.h"

namespace lockstep {
namespace {

class Reproducibility : public InFolder {};

TEST_F(Reproducibility, TheSavedConfigurationRepeatsTheRun) {
  for (const RunConfig& config : {iris_config(), digits_config()}) {
    RunFolder run(folder() / config.name, config);
    run.finish();
    const RunConfig saved = parse_config(read_text(run.path() / "config.toml"), "config.toml");
    Training first(config), second(saved);
    EXPECT_EQ(first.run().weights(), second.run().weights()) << config.name;
    EXPECT_EQ(first.state(), second.state()) << config.name;
    EXPECT_EQ(first.summary.test->loss, second.summary.test->loss) << config.name;
  }
}

TEST_F(Reproducibility, AnotherSeedGivesOtherWeights) {
  RunConfig config = iris_config();
  const std::vector<float> weights = Training(config).run().weights();
  config.seed = 2;
  EXPECT_NE(Training(config).run().weights(), weights);
}

TEST_F(Reproducibility, ThreadsDoNotMatter) {
  RunConfig config = digits_config();
  Training one(config);
  one.run();
  for (const int threads : {2, 3}) {
    config.device.threads = threads;
    Training more(config);
    EXPECT_EQ(more.run().weights(), one.weights()) << threads << " threads";
    EXPECT_EQ(more.state(), one.state()) << threads << " threads";
    EXPECT_EQ(more.summary.test->loss, one.summary.test->loss) << threads << " threads";
  }
}

TEST_F(Reproducibility, WorkersDoNotMatter) {
  RunConfig config = digits_config();
  const std::vector<float> weights = Training(config).run().weights();
  config.data.workers = 2;
  EXPECT_EQ(Training(config).run().weights(), weights);
}

TEST_F(Reproducibility, LoggingDoesNotMatter) {
  RunConfig config = iris_config();
  const std::vector<float> weights = Training(config).run().weights();
  config.train.log_every = 1;
  EXPECT_EQ(Training(config).run().weights(), weights);
}

TEST_F(Reproducibility, MicroBatchesGiveTheSameUpToRounding) {
  // Without batchnorm: its statistics are per micro-batch.
  RunConfig config = digits_config();
  config.model.layers = {"conv 4 3x3 relu", "maxpool 2", "dropout 0.3", "dense 10"};
  config.train.batch = 64;
  Training whole(config);
  whole.run();
  for (const int64_t rows : {32, 40, 20}) {  // 200 samples: the last batch holds 8
    config.train.micro_batch = rows;
    Training micro_batches(config);
    expect_close(micro_batches.run().weights(), whole.weights(), 1e-4,
                 fmt::format("micro-batches of {}", rows));
    ASSERT_EQ(micro_batches.record.steps.size(), whole.record.steps.size());
    for (size_t i = 0; i < whole.record.steps.size(); ++i)
      EXPECT_NEAR(micro_batches.record.steps[i].loss, whole.record.steps[i].loss, 1e-4);
  }
}

}  // namespace
}  // namespace lockstep
