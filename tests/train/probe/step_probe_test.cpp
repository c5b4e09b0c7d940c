// Measurement and simulation use the steps of training: compares the probe with the trainer.

#include "train/probe/step_probe.h"

#include "train/parallel_testing.h"
#include "train/shares.h"

namespace lockstep {
namespace {

RunConfig config_of(const std::string& strategy, int64_t ranks) {
  RunConfig config;
  config.model.layers = {"conv 4 3x3 relu", "maxpool 2", "dropout 0.3", "dense 10"};
  config.data = {.name = "mnist-sample", .limit = 200};
  config.train.batch = 32;
  config.train.epochs = 1;
  config.train.steps = 1;
  choose_strategy(config.parallel, strategy);
  config.parallel.ranks = ranks;
  config.parallel.backend = Backend::threads;
  return config;
}

TEST(StepProbe, AStepEqualsTheTrainersStepBitByBit) {
  for (const char* optimizer : {"adam", "momentum"}) {
    RunConfig config = config_of("all-reduce", 1);
    config.optimizer.name = optimizer;
    Training training(config);
    training.run();
    const HeldBatches held = real_batches(config, training.data, 32);
    StepProbe probe(config, held, 32, *training.ranks, *training.device, training.clock);
    probe.initialise();
    probe.run(1);
    EXPECT_EQ(copy_of(probe.parameters().weights_on_host()), training.weights()) << optimizer;
  }
}

// On one rank: with several, the ranks of probe and trainer get different samples.
TEST(StepProbe, SumsMicroBatchesAsTheTrainerDoes) {
  RunConfig config = config_of("all-reduce", 1);
  config.train.micro_batch = 8;
  Training training(config);
  training.run();
  const HeldBatches held = real_batches(config, training.data, 32);
  ASSERT_EQ(held.micro_batch, 8);
  StepProbe probe(config, held, 32, *training.ranks, *training.device, training.clock);
  probe.initialise();
  probe.run(1);
  EXPECT_EQ(copy_of(probe.parameters().weights_on_host()), training.weights());
}

TEST(StepProbe, MakesTheRequestedNumberOfSteps) {
  for (const StrategyEntry& entry : strategies()) {
    const RunConfig config = config_of(entry.name, 2);
    if (!suits(entry.traits(config.parallel), config.optimizer)) continue;
    const DataSplits data = load_data(config.data, 1);
    const HeldBatches held = real_batches(config, data, 32);
    run_thread_ranks(2, 60, [&](Communicator& ranks) {
      const WallClock clock;
      const auto device = make_test_device(config.device);
      StepProbe probe(config, held, 64, ranks, *device, clock);
      probe.initialise();
      probe.run(3);
      const size_t expected = ranks.rank() >= probe.training_ranks() ? 0
                              : probe.traits().one_update_per_epoch  ? 1
                                                                     : 3;
      EXPECT_EQ(probe.step_seconds().size(), expected) << entry.name << " rank " << ranks.rank();
    });
  }
}

}  // namespace
}  // namespace lockstep
