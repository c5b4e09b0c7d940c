// Steps of a training run, and tests that it learns.

#include <cmath>

#include "nn/nn_testing.h"
#include "train/train_testing.h"

namespace lockstep {
namespace {

TEST(Trainer, LearnsIris) {
  std::vector<double> accuracies;
  for (const int64_t seed : {1, 2, 3, 4, 5}) {
    RunConfig config = iris_config();
    config.model.layers = {"dense 50 relu", "dense 3"};
    config.train.epochs = 100;
    config.train.batch = 64;
    config.seed = seed;
    accuracies.push_back(Training(config).run().summary.test->accuracy);
  }
  std::sort(accuracies.begin(), accuracies.end());
  EXPECT_GE(accuracies[2], 0.9);
}

TEST(Trainer, LearnsDigits) {
  RunConfig config = digits_config();
  config.model.layers = {"conv 8 3x3 relu", "maxpool 2", "dense 32 relu", "dense 10"};
  config.data.limit = 0;
  config.train.epochs = 3;
  config.optimizer.lr = 0.003;
  Training training(config);
  training.run();
  EXPECT_GE(training.summary.test->accuracy, 0.8);
  EXPECT_LT(training.record.epochs[2].loss, 0.5 * training.record.epochs[0].loss);
}

TEST(Trainer, EveryLossLearns) {
  for (const std::string& loss : all_texts<LossKind>()) {
    RunConfig config = iris_config();
    config.train.loss = *from_text<LossKind>(loss);
    config.train.epochs = 60;
    EXPECT_GE(Training(config).run().summary.test->accuracy, 0.8) << loss;
  }
}

TEST(Trainer, SeesEverySampleOncePerEpoch) {
  Training training(iris_config());
  training.run();
  EXPECT_EQ(training.data.train->size(), 120);
  EXPECT_EQ(training.record.steps.size(), 5u * 8);  // 7 batches of 16, one of 8
  EXPECT_EQ(training.record.epochs.size(), 5u);
  const StepReport& last = training.record.steps.back();
  EXPECT_EQ(last.epoch, 5);
  EXPECT_EQ(last.step, 8);
  EXPECT_EQ(last.global_step, 40);
}

TEST(Trainer, ABatchLargerThanTheDataIsTheFullBatch) {
  RunConfig config = iris_config();
  config.model.layers = {"dense 20 relu", "dense 3"};
  config.train.batch = 0;
  Training full(config);
  full.run();
  EXPECT_EQ(full.record.steps.size(), 5u);
  config.train.batch = 100'000;
  EXPECT_EQ(Training(config).run().weights(), full.weights());
}

TEST(Trainer, TheEpochsLossIsTheMeanOverItsSamples) {
  Training training(iris_config());
  training.run();
  double sum = 0;
  for (size_t i = 0; i < 8; ++i) sum += training.record.steps[i].loss * (i < 7 ? 16 : 8);
  EXPECT_NEAR(training.record.epochs[0].loss, sum / 120, 1e-9);
  EXPECT_EQ(training.summary.train_loss, training.record.epochs.back().loss);
}

TEST(Trainer, ReportsTheNormOfTheGradients) {
  // Plain descent at rate 1: the first step moves the weights by exactly the gradient.
  RunConfig config = iris_config();
  config.optimizer = {.name = "sgd", .lr = 1};
  config.train.epochs = 1;
  config.train.batch = 0;
  Training training(config);
  const std::vector<float> before = training.weights();
  const std::vector<float> after = training.run().weights();
  double squares = 0;
  for (size_t i = 0; i < before.size(); ++i) squares += std::pow(double(after[i]) - before[i], 2);
  EXPECT_NEAR(training.record.steps[0].gradient_norm, std::sqrt(squares), 1e-5);
}

TEST(Trainer, ClippingScalesLongStepsToTheGivenNorm) {
  RunConfig config = iris_config();
  config.optimizer = {.name = "sgd", .lr = 1};
  config.train.epochs = 1;
  config.train.batch = 0;
  config.train.clip_norm = 0.01;
  Training training(config);
  const std::vector<float> before = training.weights();
  const std::vector<float> after = training.run().weights();
  double squares = 0;
  for (size_t i = 0; i < before.size(); ++i) squares += std::pow(double(after[i]) - before[i], 2);
  EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-5);
  EXPECT_GT(training.record.steps[0].gradient_norm, 0.05);  // the reported norm is before clipping
}

TEST(Trainer, ClippingLeavesShortStepsAlone) {
  RunConfig config = iris_config();
  const std::vector<float> weights = Training(config).run().weights();
  config.train.clip_norm = 1e6;
  EXPECT_EQ(Training(config).run().weights(), weights);
}

TEST(Trainer, FollowsTheSchedule) {
  RunConfig config = iris_config();
  config.schedule = {.name = "linear"};
  Training training(config);
  training.run();
  EXPECT_DOUBLE_EQ(training.record.steps[0].learning_rate, 0.01);
  EXPECT_NEAR(training.record.steps[20].learning_rate, 0.01 * (1 - 2.5 / 5), 1e-12);
  EXPECT_NEAR(training.record.steps[39].learning_rate, 0.01 / 40, 1e-12);
}

TEST(Trainer, TheFirstStepOfAWarmUpMoves) {
  RunConfig config = iris_config();
  config.schedule.warmup_epochs = 1;
  Training training(config);
  training.run();
  EXPECT_NEAR(training.record.steps[0].learning_rate, 0.01 / 8, 1e-12);
  EXPECT_NEAR(training.record.steps[7].learning_rate, 0.01, 1e-12);
}

TEST(Trainer, TheNetworkMustFitTheData) {
  RunConfig config = iris_config();
  config.model.layers = {"dense 4"};
  expect_says(error_of<UserError>([&] { Training training(config); }),
              {"4 outputs", "iris has 3 classes", "\"dense 3\""});
  config.model.layers = {"conv 4 3x3", "dense 3"};
  expect_says(error_of<UserError>([&] { Training training(config); }),
              {"layer conv1", "needs an image", "is 4"});
}

TEST(Trainer, TakesANetworkThatWasMadeBefore) {
  const RunConfig config = digits_config();
  const Training usual(config);
  const DataSplits data = load_data(config.data, 1);
  const auto rank = make_self_communicator();
  const WallClock clock;
  Observer silent;
  // Of another shape: the samples are not what the data set's name promises.
  for (const Shape& shape : {data.train->sample_shape(), Shape{20, 20, 1}}) {
    const auto device = make_test_device(config.device);
    InitialNetwork made(config, shape, *device, 1, 0);
    made.set_weights(config);
    const Trainer trainer(config, *rank, *device, clock, data, silent, std::move(made));
    EXPECT_EQ(copy_of(trainer.parameters().weights_on_host()), usual.weights()) << shape.text();
  }
}

TEST(Trainer, EvaluationDependsOnlyOnTheWeights) {
  // Dropout is off, running statistics are used, and the batch size has no effect.
  RunConfig config = digits_config();
  config.train.epochs = 1;
  const double loss = Training(config).run().summary.test->loss;
  EXPECT_EQ(Training(config).run().summary.test->loss, loss);
  Training training(config);
  training.run();
  Program program(training.trainer.network(), LossKind::softmax_cross_entropy, *training.device, 7);
  double sum = 0;
  BatchLoader loader(*training.data.test, 7, 0, false, 0);
  loader.start_epoch(0);
  while (const Batch* batch = loader.next()) {
    program.forward(training.trainer.parameters(), batch->x.data(), batch->rows, false,
                    {.seed = 9, .epoch = 9, .ids = batch->ids});
    sum += program.loss({.labels = batch->labels, .values = {}}).loss;
  }
  EXPECT_NEAR(sum / static_cast<double>(training.data.test->size()), loss, 1e-5);
}

}  // namespace
}  // namespace lockstep
