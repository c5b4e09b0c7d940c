// The penalty on the gradient's norm, compared with finite differences and with one rank.

#include "parallel/gradients/norm_penalty.h"

#include "nn/nn_testing.h"
#include "train/parallel_testing.h"
#include "train/probe/step_probe.h"

namespace lockstep {
namespace {

// Smooth, so that second derivatives exist.
RunConfig smooth(int64_t ranks = 1) {
  RunConfig config;
  config.model.layers = {"dense 12 tanh", "dense 10"};
  config.data = {.name = "mnist-sample", .limit = 96};
  config.train.batch = 48;
  config.train.epochs = 4;
  config.optimizer = {.name = "sgd", .lr = 1};
  config.parallel = {.ranks = ranks, .backend = Backend::threads, .batch = BatchOf::all};
  return config;
}

RunConfig penalized(RunConfig config, double weight = 0.1, double radius = 0.01) {
  config.optimizer.norm_penalty = weight;
  config.optimizer.norm_penalty_radius = radius;
  return config;
}

using Vector = std::vector<double>;

double norm_of(const Vector& v) {
  return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
}

// A step of gradient descent at rate 1 subtracts the gradient that the optimiser sees.
Vector gradient_at(const std::vector<float>& weights, const RunConfig& config,
                   const HeldBatches& held) {
  const auto device = make_test_device(config.device);
  const auto rank = make_self_communicator();
  const WallClock clock;
  StepProbe probe(config, held, held.rows, *rank, *device, clock);
  probe.initialise();
  const HostMirror& memory = probe.parameters().weights_on_host();
  std::copy(weights.begin(), weights.end(), memory.floats().begin());
  memory.upload();
  probe.run(1);
  const std::vector<float> after = copy_of(memory);
  Vector gradient(weights.size());
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = double(weights[i]) - double(after[i]);
  return gradient;
}

TEST(NormPenalty, AddsTheGradientOfTheNorm) {
  const RunConfig config = smooth();
  const DataSplits data = load_data(config.data, 1);
  const HeldBatches held = real_batches(config, data, 48);
  const auto size = static_cast<size_t>(Network(config.model.layers, held.shape).parameter_count());
  constexpr double weight = 0.5;
  const std::vector<float> weights = [&] {
    Training start(config);
    start.run();
    return start.weights();
  }();
  ASSERT_GE(weights.size(), size);
  const Vector plain = gradient_at(weights, config, held);
  const Vector full = gradient_at(weights, penalized(config, weight, 0.003), held);
  Vector of_norm(plain.size());
  for (size_t i = 0; i < plain.size(); ++i) of_norm[i] = (full[i] - plain[i]) / weight;
  ASSERT_GT(norm_of(of_norm), 0.1);

  for (uint64_t direction = 0; direction < 5; ++direction) {
    // Along the gradient of the norm and random directions beside it, in unit length.
    Vector along = of_norm;
    const std::vector<float> noise = random_floats(int64_t(along.size()), direction);
    const double share = direction == 0 ? 0 : norm_of(of_norm) / std::sqrt(double(along.size()));
    for (size_t i = 0; i < along.size(); ++i) along[i] += share * double(noise[i]);
    const double length = norm_of(along);
    constexpr double distance = 0.01;
    std::vector<float> ahead = weights, behind = weights;
    double expected = 0;
    for (size_t i = 0; i < along.size(); ++i) {
      along[i] /= length;
      ahead[i] += static_cast<float>(distance * along[i]);
      behind[i] -= static_cast<float>(distance * along[i]);
      expected += along[i] * of_norm[i];
    }
    const double difference =
        norm_of(gradient_at(ahead, config, held)) - norm_of(gradient_at(behind, config, held));
    EXPECT_NEAR(difference / (2 * distance), expected, 0.01 * norm_of(of_norm)) << direction;
  }
}

TEST(NormPenalty, DoesNotDependOnTheNumberOfRanks) {
  for (const char* strategy : {"all-reduce", "reduce-broadcast"}) {
    const ParallelTraining one(penalized(smooth()));
    for (const int64_t ranks : {2, 3}) {
      RunConfig config = penalized(smooth(ranks));
      config.parallel.strategy = strategy;
      const ParallelTraining many(config);
      EXPECT_LT(largest_difference(one.weights[0], many.weights[0]), 1e-4) << strategy << ranks;
      for (const auto& replica : many.weights) EXPECT_EQ(replica, many.weights[0]) << strategy;
    }
  }
  RunConfig config = penalized(smooth());
  config.parallel.mode = Mode::reproducible;
  const ParallelTraining one(config);
  config.parallel.ranks = 4;
  EXPECT_EQ(ParallelTraining(config).weights[3], one.weights[0]);
}

// Dropout masks are drawn once per sample and epoch; statistics of batch normalisation are those of
// the first of the two passes.
TEST(NormPenalty, RepeatsTheSamplesOfTheStep) {
  RunConfig config = smooth();
  config.model.layers = {"dense 12", "batchnorm", "tanh", "dropout 0.3", "dense 10"};
  config.train.epochs = 1;
  config.optimizer.lr = 1e-12;
  Training plain(config), tiny(penalized(config, 1e-12)), real(penalized(config));
  plain.run();
  tiny.run();
  real.run();
  EXPECT_EQ(tiny.state(), plain.state());
  EXPECT_EQ(real.state(), plain.state());
  ASSERT_EQ(tiny.record.steps.size(), plain.record.steps.size());
  for (size_t i = 0; i < plain.record.steps.size(); ++i) {
    EXPECT_EQ(tiny.record.steps[i].loss, plain.record.steps[i].loss) << i;
    EXPECT_NEAR(tiny.record.steps[i].gradient_norm, plain.record.steps[i].gradient_norm, 1e-5) << i;
  }
}

TEST(NormPenalty, WorksOnSparseInputs) {
  RunConfig config = smooth();
  config.model.layers = {"dense 16 tanh", "dense 419"};
  config.data = {.name = "posts", .limit = 400, .vocabulary = 1000};
  config.train.loss = LossKind::sigmoid_cross_entropy;
  config.train.epochs = 1;
  const ParallelTraining one(penalized(config));
  config.parallel.ranks = 2;
  const ParallelTraining two(penalized(config));
  EXPECT_LT(largest_difference(one.weights[0], two.weights[0]), 1e-4);
  EXPECT_GT(largest_difference(one.weights[0], ParallelTraining(config).weights[0]), 1e-6);
}

TEST(NormPenalty, IsRefusedWhereNoRankHasTheWholeGradient) {
  RunConfig config = penalized(smooth(2));
  for (const char* strategy : {"parameter-server", "average-weights", "scatter-gather"}) {
    choose_strategy(config.parallel, strategy);
    expect_says(error_of<UserError>([&] { check(config); }),
                {"optimizer.norm_penalty", strategy, "use \"all-reduce\""});
  }
  choose_strategy(config.parallel, "all-reduce");
  config.optimizer.name = "lbfgs";
  expect_says(error_of<UserError>([&] { check(config); }), {"optimizer.norm_penalty", "lbfgs"});
  config.optimizer.name = "sgd";
  config.parallel.compress = Compression::top_k;
  expect_says(error_of<UserError>([&] { check(config); }), {"optimizer.norm_penalty", "top-k"});
}

}  // namespace
}  // namespace lockstep
