// Pipelines compute what one rank computes with the same micro-batches, bit by bit.

#include "parallel/pipeline/pipeline.h"

#include "nn/nn_testing.h"
#include "train/parallel_testing.h"

namespace lockstep {
namespace {

// The weights of a run, collected from its stages.
struct MeshTraining {
  std::vector<float> weights, state;
  Summary summary;
  Record record;
  std::vector<int64_t> parameters;  // that each rank holds

  explicit MeshTraining(const RunConfig& config) : parameters(size_t(config.parallel.ranks)) {
    const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed));
    run_thread_ranks(static_cast<int>(config.parallel.ranks), 60, [&](Communicator& ranks) {
      const WallClock clock;
      const auto device = make_test_device(config.device);
      Observer silent;
      Trainer trainer(config, ranks, *device, clock, data,
                      ranks.rank() == 0 ? static_cast<Observer&>(record) : silent);
      const Summary mine = trainer.run(record.stop);
      for (const Parameters::Entry& entry : trainer.parameters().entries())
        if (!entry.borrowed) parameters[size_t(ranks.rank())] += entry.spec.stored.elements();
      const std::optional<Parameters> whole = trainer.collect();
      if (ranks.rank() != 0) return;
      const Parameters& all = whole ? *whole : trainer.parameters();
      weights = copy_of(all.weights_on_host());
      state = copy_of(all.state_on_host());
      summary = mine;
    });
  }
};

// Dropout, Adam, clipping, and a last batch that is smaller.
RunConfig base(const std::vector<std::string>& layers) {
  RunConfig config;
  config.model.layers = layers;
  config.data = {.name = "mnist-sample", .limit = 150};
  config.train.epochs = 2;
  config.train.batch = 40;
  config.train.clip_norm = 0.5;
  config.parallel.backend = Backend::threads;
  config.parallel.batch = BatchOf::all;
  config.parallel.bucket_mb = 0.01;
  return config;
}

RunConfig mlp() {
  return base({"dense 40 relu", "dropout 0.3", "dense 30 tanh", "layernorm", "dropout 0.2",
               "dense 20 relu", "dense 10"});
}

RunConfig cnn() {
  return base({"conv 4 3x3 relu", "maxpool 2", "conv 6 3x3 relu", "maxpool 2", "dropout 0.3",
               "dense 16 relu", "dense 10"});
}

RunConfig with(RunConfig config, int64_t stages, Schedule schedule, int64_t micro_batches,
               int64_t replicas = 1) {
  config.parallel.ranks = stages * replicas;
  config.parallel.pipeline = stages;
  config.parallel.schedule = schedule;
  config.parallel.micro_batches = micro_batches;
  return config;
}

void expect_same(const MeshTraining& got, const MeshTraining& expected, const std::string& what) {
  EXPECT_EQ(got.weights, expected.weights) << what;
  EXPECT_EQ(got.state, expected.state) << what;
  ASSERT_EQ(got.record.steps.size(), expected.record.steps.size()) << what;
  for (size_t i = 0; i < expected.record.steps.size(); ++i) {
    EXPECT_EQ(got.record.steps[i].loss, expected.record.steps[i].loss) << what << " step " << i;
    EXPECT_EQ(got.record.steps[i].gradient_norm, expected.record.steps[i].gradient_norm)
        << what << " step " << i;
  }
  EXPECT_EQ(got.summary.train_accuracy, expected.summary.train_accuracy) << what;
  EXPECT_EQ(got.summary.test->loss, expected.summary.test->loss) << what;
  EXPECT_EQ(got.summary.test->accuracy, expected.summary.test->accuracy) << what;
}

class Pipelines : public testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(Schedules, Pipelines,
                         testing::Values(Schedule::gpipe, Schedule::one_f_one_b,
                                         Schedule::interleaved),
                         [](const auto& info) {
                           return info.param == Schedule::gpipe         ? "gpipe"
                                  : info.param == Schedule::one_f_one_b ? "one_f_one_b"
                                                                        : "interleaved";
                         });

TEST_P(Pipelines, EqualOneRankBitByBit) {
  for (const auto& make : {mlp, cnn})
    for (const int64_t stages : {2, 3, 4}) {
      const bool interleaved = GetParam() == Schedule::interleaved;
      if (interleaved && stages > 2) continue;  // these networks have too few steps
      const std::vector<int64_t> counts =
          interleaved ? std::vector{stages, 2 * stages}
                      : std::vector{int64_t{1}, stages - 1, stages, 2 * stages + 1};
      for (const int64_t micro_batches : counts) {
        const MeshTraining one(with(make(), 1, Schedule::one_f_one_b, micro_batches));
        const MeshTraining many(with(make(), stages, GetParam(), micro_batches));
        expect_same(many, one, fmt::format("{} stages, {} micro-batches", stages, micro_batches));
        for (const int64_t count : many.parameters) EXPECT_LT(count, one.parameters[0]);
        EXPECT_EQ(std::accumulate(many.parameters.begin(), many.parameters.end(), int64_t{0}),
                  one.parameters[0]);
      }
    }
}

TEST_P(Pipelines, ComposeWithReplicas) {
  for (const char* strategy : {"all-reduce", "reduce-broadcast"}) {
    RunConfig one = with(cnn(), 1, Schedule::one_f_one_b, 4, 2);
    RunConfig many = with(cnn(), 2, GetParam(), 4, 2);
    one.parallel.strategy = many.parallel.strategy = strategy;
    expect_same(MeshTraining(many), MeshTraining(one), strategy);
  }
}

TEST(Pipeline, KeepsTheBitsOfReproducibleMode) {
  RunConfig one = with(mlp(), 1, Schedule::one_f_one_b, 2);
  one.parallel.mode = Mode::reproducible;
  const MeshTraining alone(one);
  for (const int64_t replicas : {1, 2, 4}) {
    RunConfig many = with(mlp(), 2, Schedule::one_f_one_b, 2, replicas);
    many.parallel.mode = Mode::reproducible;
    EXPECT_EQ(MeshTraining(many).weights, alone.weights) << replicas;
  }
}

TEST(Pipeline, AveragesWeightsOfReplicas) {
  RunConfig one = with(mlp(), 1, Schedule::one_f_one_b, 2, 2);
  RunConfig many = with(mlp(), 2, Schedule::one_f_one_b, 2, 2);
  for (RunConfig* config : {&one, &many}) config->parallel.strategy = "average-weights";
  const MeshTraining got(many), expected(one);
  EXPECT_EQ(got.weights, expected.weights);
  EXPECT_EQ(got.summary.test->loss, expected.summary.test->loss);
}

// Serial training adds the gradients of the table's two uses per micro-batch, stages per use.
TEST(Pipeline, TrainsGpt2UpToTheRoundingOfItsTable) {
  RunConfig config = base({"gpt2 layers 3 heads 2 width 16 context 16 vocabulary 256 dropout 0.1"});
  config.data = {.name = "problems-sample", .limit = 24, .context = 16, .split_column = "split"};
  config.data.text_template = "{problem}";
  config.train.batch = 8;
  config.train.epochs = 2;
  config.optimizer = {.name = "sgd", .lr = 0.05};
  const MeshTraining one(with(config, 1, Schedule::one_f_one_b, 4));
  for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved})
    for (const int64_t replicas : {1, 2}) {
      const MeshTraining many(with(config, 2, schedule, 4, replicas));
      EXPECT_LT(largest_difference(many.weights, one.weights), 1e-6) << to_text(schedule);
      ASSERT_EQ(many.record.steps.size(), one.record.steps.size());
      for (size_t i = 0; i < one.record.steps.size(); ++i) {
        EXPECT_NEAR(many.record.steps[i].loss, one.record.steps[i].loss, 1e-5);
        EXPECT_NEAR(many.record.steps[i].gradient_norm, one.record.steps[i].gradient_norm, 1e-5);
      }
    }
}

TEST(Pipeline, BatchNormalisationIsPerMicroBatch) {
  RunConfig config = base({"dense 20", "batchnorm relu", "dense 16 relu", "dense 10"});
  expect_same(MeshTraining(with(config, 2, Schedule::one_f_one_b, 4)),
              MeshTraining(with(config, 1, Schedule::one_f_one_b, 4)), "batch normalisation");
}

TEST(Pipeline, TrainsOnSparseInputs) {
  RunConfig config = base({"dense 16 tanh", "dense 12 relu", "dense 419"});
  config.data = {.name = "posts", .test = 0.01, .limit = 200, .vocabulary = 500};
  config.train.loss = LossKind::sigmoid_cross_entropy;
  config.train.epochs = 1;
  expect_same(MeshTraining(with(config, 3, Schedule::one_f_one_b, 4)),
              MeshTraining(with(config, 1, Schedule::one_f_one_b, 4)), "sparse inputs");
}

TEST(Pipeline, StopsOnAllStagesAtTheSameStep) {
  for (const int64_t stages : {2, 3}) {
    RunConfig config = with(mlp(), stages, Schedule::one_f_one_b, 2, 2);
    config.train.epochs = 1000;
    const DataSplits data = load_data(config.data, 1);
    std::vector<int64_t> steps(size_t(config.parallel.ranks));
    run_thread_ranks(static_cast<int>(config.parallel.ranks), 60, [&](Communicator& ranks) {
      const WallClock clock;
      const auto device = make_test_device(config.device);
      Record record;
      record.stop_at = ranks.rank() == 3 ? 5 : 0;  // on a rank of the second replica
      Trainer trainer(config, ranks, *device, clock, data, record);
      trainer.run(record.stop);
      steps[size_t(ranks.rank())] = trainer.steps_done();
    });
    for (const int64_t count : steps) {
      EXPECT_EQ(count, steps[0]);
      EXPECT_GE(count, 5);
      EXPECT_LE(count, 7);
    }
  }
}

TEST(Pipeline, RefusesWhatCannotBeCombined) {
  const auto refused = [](RunConfig config, const std::vector<std::string>& says) {
    expect_says(error_of<UserError>([&] { check(config); }), says);
  };
  RunConfig config = with(mlp(), 2, Schedule::one_f_one_b, 4);
  config.train.clip_norm = 0;
  check(config);
  for (const char* strategy :
       {"parameter-server", "scatter-gather", "sandblaster", "average-gradients-per-epoch"}) {
    RunConfig other = config;
    choose_strategy(other.parallel, strategy);
    if (std::string(strategy) == "sandblaster") other.optimizer.name = "lbfgs";
    refused(other, {"parallel.pipeline = 2", strategy, "all-reduce"});
  }
  RunConfig lbfgs = config;
  lbfgs.optimizer.name = "lbfgs";
  refused(lbfgs, {"parallel.pipeline = 2", "lbfgs"});
  RunConfig penalty = config;
  penalty.optimizer.norm_penalty = 0.1;
  refused(penalty, {"parallel.pipeline = 2", "norm_penalty"});
  refused(with(mlp(), 2, Schedule::interleaved, 3), {"multiple of the 2 stages", "not 3"});
  RunConfig chunks = config;
  chunks.parallel.chunks = 2;
  refused(chunks, {"parallel.chunks = 2", "interleaved"});
  expect_says(
      error_of<UserError>([] { mesh_of(with(mlp(), 1, Schedule::interleaved, 2).parallel, 1); }),
      {"interleaved", "--mesh pipeline=2"});
  RunConfig norm = with(base({"dense 20", "batchnorm relu", "dense 10"}), 2, Schedule::gpipe, 4);
  norm.parallel.mode = Mode::reproducible;
  EXPECT_THROW(MeshTraining{norm}, UserError);
  EXPECT_THROW(MeshTraining(with(mlp(), 12, Schedule::gpipe, 4)), UserError);  // too few steps
}

}  // namespace
}  // namespace lockstep
