// Compares ranks on threads with one rank, or with another computation of the same result.

#include "parallel/strategy.h"

#include <gtest/gtest.h>

#include "nn/nn_testing.h"
#include "train/parallel_testing.h"

namespace lockstep {
namespace {

// About 50 steps, dropout included; the last batch of an epoch is smaller and uneven.
RunConfig mlp(int64_t ranks) {
  RunConfig config;
  config.model.layers = {"dense 40 relu", "dropout 0.3", "dense 10"};
  config.data = {.name = "mnist-sample", .limit = 500};
  config.train.epochs = 6;
  config.train.batch = 56;
  config.parallel = {.ranks = ranks, .backend = Backend::threads, .batch = BatchOf::all};
  config.parallel.bucket_mb = 0.02;
  return config;
}

RunConfig cnn(int64_t ranks) {
  RunConfig config = mlp(ranks);
  config.model.layers = {"conv 4 3x3 relu", "maxpool 2", "conv 6 3x3 relu", "dropout 0.3",
                         "dense 10"};
  return config;
}

class Ranks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Numbers, Ranks, testing::Values(2, 3, 4, 7));

TEST_P(Ranks, EqualOneRankWithTheSameGlobalBatch) {
  for (const auto& make : {mlp, cnn}) {
    const ParallelTraining one(make(1));
    for (const char* strategy : {"all-reduce", "reduce-broadcast", "scatter-gather"}) {
      RunConfig config = make(GetParam());
      config.parallel.strategy = strategy;
      const ParallelTraining many(config);
      EXPECT_LT(largest_difference(one.weights[0], many.weights[0]), 1e-5) << strategy;
      for (const auto& replica : many.weights) EXPECT_EQ(replica, many.weights[0]) << strategy;
      EXPECT_NEAR(one.summary.train_loss, many.summary.train_loss, 1e-5);
      EXPECT_NEAR(one.summary.test->loss, many.summary.test->loss, 1e-5);
      EXPECT_EQ(one.record.steps.size(), many.record.steps.size());
    }
  }
}

TEST_P(Ranks, TheLossOfEveryStepIsThatOfTheWholeBatch) {
  const ParallelTraining one(mlp(1)), many(mlp(GetParam()));
  for (size_t i = 0; i < one.record.steps.size(); ++i)
    EXPECT_NEAR(one.record.steps[i].loss, many.record.steps[i].loss, 1e-4) << i;
}

TEST_P(Ranks, AreBitIdenticalAtEveryStep) {
  // The gradient norm and the loss would show a single bit that differs.
  for (const char* strategy : {"all-reduce", "reduce-broadcast"}) {
    RunConfig config = cnn(GetParam());
    config.parallel.strategy = strategy;
    const DataSplits data = load_data(config.data, 1);
    std::vector<Record> records(static_cast<size_t>(GetParam()));
    run_thread_ranks(GetParam(), 60, [&](Communicator& ranks) {
      const WallClock clock;
      const auto device = make_test_device(config.device);
      Record& record = records[static_cast<size_t>(ranks.rank())];
      Trainer(config, ranks, *device, clock, data, record).run(record.stop);
    });
    ASSERT_GE(records[0].steps.size(), 50u);
    for (const Record& record : records)
      for (size_t i = 0; i < records[0].steps.size(); ++i) {
        EXPECT_EQ(record.steps[i].gradient_norm, records[0].steps[i].gradient_norm);
        EXPECT_EQ(record.steps[i].loss, records[0].steps[i].loss);
      }
  }
}

TEST_P(Ranks, CompressionGivesNearlyTheSameResultOnAllRanks) {
  for (const std::string& strategy : strategy_names()) {
    RunConfig config = mlp(GetParam());
    choose_strategy(config.parallel, strategy);
    const StrategyTraits traits = traits_of(config.parallel);
    if (GetParam() <= traits.servers || !traits.compresses) continue;
    const ParallelTraining exact(config);
    for (const Compression compression :
         {Compression::bf16, Compression::fp16, Compression::top_k}) {
      config.parallel.compress = compression;
      config.parallel.compress_share = 0.25;
      const ParallelTraining less(config);
      const std::string what = strategy + ", " + to_text(compression);
      for (const auto& replica : less.weights) EXPECT_EQ(replica, less.weights[0]) << what;
      EXPECT_NE(less.weights[0], exact.weights[0]) << what;
      EXPECT_NEAR(less.summary.test->loss, exact.summary.test->loss,
                  compression == Compression::top_k ? 0.25 : 0.02)
          << what;
      EXPECT_NEAR(less.record.steps.front().loss, exact.record.steps.front().loss, 1e-6) << what;
    }
  }
}

// Momentum is applied before the selection then.
TEST(Compression, TopKOfAllValuesIsTheUncompressedRun) {
  for (const char* optimizer : {"sgd", "momentum", "nesterov", "adam"})
    for (const char* strategy :
         {"all-reduce", "reduce-broadcast", "parameter-server", "scatter-gather"}) {
      RunConfig config = mlp(3);
      config.optimizer.name = optimizer;
      config.optimizer.lr = std::string(optimizer) == "adam" ? 0.001 : 0.05;
      choose_strategy(config.parallel, strategy);
      const ParallelTraining exact(config);
      config.parallel.compress = Compression::top_k;
      config.parallel.compress_share = 1;
      EXPECT_LT(largest_difference(ParallelTraining(config).weights[0], exact.weights[0]), 2e-4)
          << optimizer << ", " << strategy;
    }
}

TEST(Compression, IsRefusedWhereItHasNoMeaning) {
  RunConfig config = mlp(2);
  config.name = "test";
  config.parallel.compress = Compression::bf16;
  config.parallel.mode = Mode::reproducible;
  expect_says(error_of<UserError>([&] { check(config); }), {"parallel.compress", "reproducible"});
  config.parallel.mode = Mode::fast;
  for (const double share : {0.0, -0.5, 1.5}) {
    config.parallel.compress_share = share;
    expect_says(error_of<UserError>([&] { check(config); }),
                {"parallel.compress_share", "above 0 and at most 1"});
  }
}

TEST_P(Ranks, PartsCoverAllSamplesWithEqualWeight) {
  // One step per epoch over all samples: the sum does not depend on which rank holds a sample.
  for (const Parts parts : {Parts::contiguous, Parts::strided, Parts::shuffled}) {
    RunConfig config = mlp(1);
    config.train.batch = 0;
    const ParallelTraining one(config);
    config.parallel.ranks = GetParam();
    config.parallel.parts = parts;
    EXPECT_LT(largest_difference(one.weights[0], ParallelTraining(config).weights[0]), 1e-5)
        << to_text(parts);
    config.parallel.strategy = "average-gradients-per-epoch";
    config.train.batch = 50;
    EXPECT_LT(largest_difference(one.weights[0], ParallelTraining(config).weights[0]), 1e-5)
        << to_text(parts);
  }
}

TEST_P(Ranks, AverageWeightsEveryStepWithSgdEqualsAllReduce) {
  RunConfig config = mlp(GetParam());
  config.optimizer = {.name = "sgd", .lr = 0.1};
  const ParallelTraining reduced(config);
  config.parallel.strategy = "average-weights";
  config.parallel.average = Averaging::steps;
  const ParallelTraining averaged(config);
  EXPECT_LT(largest_difference(reduced.weights[0], averaged.weights[0]), 1e-5);
  for (const auto& replica : averaged.weights) EXPECT_EQ(replica, averaged.weights[0]);
}

TEST_P(Ranks, TheSynchronousServerEqualsAllReduce) {
  RunConfig config = mlp(GetParam());
  const ParallelTraining reduced(config);
  for (const int64_t servers : {1, 2}) {
    config.parallel.strategy = "parameter-server";
    config.parallel.servers = servers;
    config.parallel.ranks = GetParam() + servers;
    const ParallelTraining served(config);
    EXPECT_LT(largest_difference(reduced.weights[0], served.weights[0]), 1e-5);
    for (const auto& replica : served.weights) EXPECT_EQ(replica, served.weights[0]);
  }
}

// 14 segments per shard, more than workers push ahead, and 7.
RunConfig with_large_shards(int64_t workers) {
  RunConfig config = mlp(workers);
  config.model.layers = {"dense 560 relu", "dropout 0.3", "dense 10"};
  config.train.epochs = 2;
  return config;
}

TEST(SynchronousServer, WithOneWorkerEqualsSerialTrainingAlsoInSegments) {
  RunConfig config = with_large_shards(1);
  const ParallelTraining serial(config);
  config.parallel.strategy = "parameter-server";
  for (const int64_t servers : {1, 2}) {
    config.parallel.servers = servers;
    config.parallel.ranks = 1 + servers;
    EXPECT_EQ(ParallelTraining(config).weights[0], serial.weights[0]) << servers;
  }
}

TEST(SynchronousServer, EqualsAllReduceInSegments) {
  RunConfig config = with_large_shards(3);
  for (const Compression compression : {Compression::none, Compression::bf16}) {
    config.parallel.strategy = "all-reduce";
    config.parallel.compress = Compression::none;
    config.parallel.ranks = 3;
    const ParallelTraining reduced(config);
    config.parallel.strategy = "parameter-server";
    config.parallel.compress = compression;
    config.parallel.ranks = 4;
    const ParallelTraining served(config);
    EXPECT_LT(largest_difference(reduced.weights[0], served.weights[0]),
              compression == Compression::none ? 1e-5 : 0.02);
    for (const auto& replica : served.weights) EXPECT_EQ(replica, served.weights[0]);
  }
}

TEST(AsynchronousServer, WithOneWorkerEqualsSerialTraining) {
  for (const char* optimizer : {"sgd", "adam"}) {
    RunConfig config = mlp(1);
    config.optimizer = {.name = optimizer, .lr = 0.01};
    const ParallelTraining serial(config);
    config.parallel.strategy = "parameter-server";
    config.parallel.asynchronous = true;
    config.parallel.ranks = 2;
    EXPECT_EQ(ParallelTraining(config).weights[0], serial.weights[0]) << optimizer;
  }
}

TEST(AsynchronousServer, LearnsAndMeasuresStalenessWithinItsBound) {
  RunConfig config = mlp(5);
  config.parallel.strategy = "parameter-server";
  config.parallel.asynchronous = true;
  config.parallel.batch = BatchOf::rank;
  config.parallel.staleness = 1;
  config.train.batch = 10;
  const ParallelTraining training(config);
  EXPECT_GT(training.summary.test->accuracy, 0.6);
  ASSERT_EQ(training.summary.parallel->own.size(), 2u);
  EXPECT_EQ(training.summary.parallel->own[1].name, "staleness_max");
  // Each of the 3 other workers can be at most 1 + 1 pushes ahead of a slow one's last.
  EXPECT_LE(training.summary.parallel->own[1].value, 3 * 3);
}

TEST(AverageWeights, OnceAtTheEndEqualsTheMeanOfRanksThatTrainedAlone) {
  RunConfig config = mlp(3);
  config.parallel.strategy = "average-weights";
  config.parallel.parts = Parts::contiguous;
  config.data.limit = 480;  // equal parts: equal weights in the mean
  config.train.batch = 48;
  config.parallel.average = Averaging::never;
  const ParallelTraining alone(config);
  EXPECT_NE(alone.weights[0], alone.weights[1]);
  config.parallel.average = Averaging::end;
  const ParallelTraining together(config);
  std::vector<float> mean(alone.weights[0].size());
  for (size_t i = 0; i < mean.size(); ++i)
    mean[i] = (alone.weights[0][i] + alone.weights[1][i] + alone.weights[2][i]) / 3;
  EXPECT_LT(largest_difference(mean, together.weights[0]), 1e-6);
}

TEST(AverageWeights, AveragesEveryEpochOrEveryFewSteps) {
  for (const Averaging when : {Averaging::epoch, Averaging::steps}) {
    RunConfig config = mlp(4);
    config.parallel.strategy = "average-weights";
    config.parallel.average = when;
    config.parallel.average_steps = 4;
    const ParallelTraining training(config);
    for (const auto& replica : training.weights) EXPECT_EQ(replica, training.weights[0]);
    EXPECT_GT(training.summary.test->accuracy, 0.5);
  }
}

TEST(Reproducible, WeightsAreTheSameBitsForAnyNumberOfRanks) {
  for (const auto& make : {mlp, cnn}) {
    std::vector<float> first;
    for (const int64_t ranks : {1, 2, 4, 8}) {
      RunConfig config = make(ranks);
      config.parallel.mode = Mode::reproducible;
      const ParallelTraining training(config);
      if (first.empty()) first = training.weights[0];
      for (const auto& replica : training.weights) EXPECT_EQ(replica, first) << ranks;
    }
  }
}

TEST(Reproducible, RefusesUnevenShardsAndBatchNormalisation) {
  RunConfig config = mlp(3);
  config.parallel.mode = Mode::reproducible;
  expect_says(error_of<UserError>([&] { ParallelTraining{config}; }),
              {"parallel.shards = 8", "3 ranks"});
  config = mlp(2);
  config.parallel.mode = Mode::reproducible;
  config.model.layers = {"conv 4 3x3", "batchnorm relu", "dense 10"};
  expect_says(error_of<UserError>([&] { ParallelTraining{config}; }), {"batch normalisation"});
}

TEST(GradientAccumulation, EqualsALargerBatch) {
  RunConfig config = mlp(2);
  const ParallelTraining whole(config);
  config.train.batch = 14;
  config.train.accumulate = 4;
  EXPECT_LT(largest_difference(whole.weights[0], ParallelTraining(config).weights[0]), 1e-5);
}

TEST(BatchPerRank, ScalesTheGlobalBatchAndTheLearningRateWithTheRanks) {
  RunConfig config = mlp(4);
  config.parallel.batch = BatchOf::rank;
  config.schedule.scale_with_ranks = true;
  const ParallelTraining many(config);
  EXPECT_EQ(many.record.steps.size(), 6u * 3);  // 500 in batches of 224
  EXPECT_DOUBLE_EQ(many.record.steps[0].learning_rate, 0.004);
}

TEST(BatchNorm, RunningStatisticsAreAveraged) {
  RunConfig config = cnn(2);
  config.model.layers = {"conv 4 3x3", "batchnorm relu", "dense 10"};
  const ParallelTraining together(config);
  EXPECT_EQ(together.states[0], together.states[1]);
  // Ranks that never average keep the statistics of their own samples, which differ.
  config.train.epochs = 1;
  config.parallel.strategy = "average-weights";
  config.parallel.average = Averaging::never;
  const ParallelTraining apart(config);
  ASSERT_EQ(apart.states[0].size(), together.states[0].size());
  EXPECT_NE(apart.states[0], apart.states[1]);
}

TEST(Ranks, CannotBeMoreThanSamplesOrTheBatch) {
  RunConfig config = mlp(7);
  config.data.limit = 5;
  expect_says(error_of<UserError>([&] { ParallelTraining{config}; }), {"7 ranks", "5 training"});
  config = mlp(7);
  config.train.batch = 4;
  expect_says(error_of<UserError>([&] { ParallelTraining{config}; }), {"batch of 4", "7 ranks"});
}

TEST(ParameterServers, NeedWorkers) {
  RunConfig config = mlp(1);
  config.parallel.strategy = "parameter-server";
  expect_says(error_of<UserError>([&] { ParallelTraining{config}; }), {"at least 2 ranks"});
}

TEST(Figures, TimesOfARankStayWithinTheTimeOfTheRun) {
  const ParallelTraining training(mlp(2));
  const ParallelFigures& p = *training.summary.parallel;
  double trained = 0;
  for (const double epoch : training.summary.epoch_seconds) trained += epoch;
  ASSERT_EQ(p.by_rank.size(), 2u);
  for (const RankTimes& rank : p.by_rank) {
    const StepTimes& t = rank.times;
    const double accounted = t.load + t.compute + t.exposed + t.waiting;
    EXPECT_LE(accounted, 1.1 * training.summary.total_seconds);
    EXPECT_GE(accounted, 0.1 * trained);  // the rest is between steps
  }
  EXPECT_EQ(p.ranks, 2);
  EXPECT_EQ(p.backend, "threads");
  EXPECT_EQ(p.global_batch, 56);
}

}  // namespace
}  // namespace lockstep
