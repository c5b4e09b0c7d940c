// How runs end: finished, stopped early, interrupted or diverged.

#include <cmath>

#include "nn/nn_testing.h"
#include "train/train_testing.h"

namespace lockstep {
namespace {

// Overfits: the validation loss rises after some epochs.
RunConfig overfitting_config() {
  RunConfig config = iris_config();
  config.model.layers = {"dense 30 relu", "dense 3"};
  config.data.test = 0;
  config.data.validation = 0.5;
  config.optimizer.lr = 0.05;
  config.train.epochs = 200;
  return config;
}

int64_t best_epoch(const Training& training) {
  int64_t best = 0;
  for (const EpochReport& report : training.record.epochs)
    if (best == 0 || report.validation->loss <
                         training.record.epochs[static_cast<size_t>(best - 1)].validation->loss)
      best = report.epoch;
  return best;
}

TEST(EarlyStopping, EndsAfterTheGivenNumberOfEpochsWithoutABetterLoss) {
  RunConfig config = overfitting_config();
  config.train.early_stopping = 3;
  Training training(config);
  training.run();
  EXPECT_EQ(training.summary.ending, Ending::early);
  EXPECT_LT(training.summary.epochs, 200);
  EXPECT_EQ(training.summary.epochs, best_epoch(training) + 3);
  EXPECT_EQ(training.record.epochs.size(), static_cast<size_t>(training.summary.epochs));
}

TEST(EarlyStopping, DoesNotCutARunThatImproves) {
  RunConfig config = overfitting_config();
  config.optimizer.lr = 0.001;
  config.train.epochs = 10;
  config.train.early_stopping = 3;
  Training training(config);
  training.run();
  EXPECT_EQ(training.summary.ending, Ending::finished);
  EXPECT_EQ(training.summary.epochs, 10);
}

TEST(Stopping, BetweenTwoEpochsReportsTheLastOneOnce) {
  Training training(iris_config());
  training.record.stop_at_epoch = 2;
  training.run();
  EXPECT_EQ(training.summary.ending, Ending::interrupted);
  EXPECT_EQ(training.record.epochs.size(), 2u);
  EXPECT_EQ(training.summary.epochs, 2);
  EXPECT_EQ(training.summary.train_loss, training.record.epochs[1].loss);
}

TEST(KeepBest, KeepsTheWeightsOfTheEpochThatValidatedBest) {
  RunConfig config = overfitting_config();
  config.train.early_stopping = 5;
  config.train.keep = Keep::best;
  Training training(config);
  training.run();
  const int64_t best = best_epoch(training);
  EXPECT_EQ(training.summary.best_epoch, best);
  EXPECT_EQ(training.summary.validation->loss,
            training.record.epochs[static_cast<size_t>(best - 1)].validation->loss);
  // They equal the weights of a run that ends with that epoch.
  config.train.epochs = best;
  config.train.keep = Keep::last;
  EXPECT_EQ(Training(config).run().weights(), training.weights());
}

TEST(KeepBest, KeepsTheStatisticsToo) {
  RunConfig config = digits_config();
  config.data.validation = 50;
  config.data.limit = 100;
  config.train.epochs = 4;
  config.optimizer.lr = 0.01;
  config.schedule = {.name = "step", .step_epochs = 3, .step_factor = 1000};  // spoils epoch 4
  config.train.keep = Keep::best;
  Training training(config);
  training.run();
  ASSERT_LT(training.summary.best_epoch, 4) << "the last epoch is the best: the test shows nothing";
  config.train.epochs = training.summary.best_epoch;
  config.train.keep = Keep::last;
  EXPECT_EQ(Training(config).run().state(), training.state());
}

TEST(KeepBest, ALossOfNanIsNeverTheBest) {
  RunConfig config = overfitting_config();
  config.train.batch = 0;  // the last step diverges, which only validation shows
  config.train.epochs = 2;
  config.train.keep = Keep::best;
  config.optimizer = {.name = "sgd", .lr = 0.01};
  config.schedule = {.name = "step", .step_epochs = 1, .step_factor = 1e35};
  Training training(config);
  training.run();
  ASSERT_TRUE(std::isnan(training.record.epochs[1].validation->loss));
  EXPECT_EQ(training.summary.best_epoch, 1);
  EXPECT_TRUE(std::isfinite(training.summary.validation->loss));
}

TEST(KeepLast, KeepsTheLast) {
  RunConfig config = overfitting_config();
  config.train.epochs = 20;
  Training training(config);
  training.run();
  EXPECT_EQ(training.summary.best_epoch, 0);
  EXPECT_EQ(training.summary.validation->loss, training.record.epochs.back().validation->loss);
}

TEST(Divergence, SaysTheStepAndWhatToTry) {
  RunConfig config = iris_config();
  config.optimizer = {.name = "sgd", .lr = 1e30};
  Training training(config);
  expect_says(error_of<Diverged>([&] { training.run(); }),
              {"diverged at step 2 (epoch 1)", "smaller optimizer.lr", "1e+30", "train.clip_norm"});
  EXPECT_EQ(training.record.steps.size(), 1u);
}

TEST(Divergence, KeepsTheWeightsFromBeforeTheEpoch) {
  RunConfig config = iris_config();
  config.optimizer = {.name = "sgd", .lr = 1e30};
  Training training(config);
  const std::vector<float> initial = training.weights();
  EXPECT_THROW(training.run(), Diverged);
  EXPECT_EQ(training.weights(), initial);
}

TEST(Divergence, KeepsTheStatisticsToo) {
  RunConfig config = digits_config();
  config.optimizer = {.name = "sgd", .lr = 1e30};
  Training training(config);
  const std::vector<float> before = training.state();
  EXPECT_THROW(training.run(), Diverged);
  EXPECT_EQ(training.state(), before);
}

TEST(Divergence, OfAFullBatchKeepsTheInitialWeights) {
  RunConfig config = iris_config();
  config.train.batch = 0;
  config.optimizer = {.name = "sgd", .lr = 1e30};
  Training training(config);
  const std::vector<float> initial = training.weights();
  EXPECT_THROW(training.run(), Diverged);
  EXPECT_EQ(training.weights(), initial);
}

TEST(Divergence, AtTheLastStepIsNoticed) {
  RunConfig config = iris_config();
  config.train.batch = 0;
  config.train.epochs = 1;
  config.optimizer = {.name = "sgd", .lr = 1e30};
  expect_says(error_of<Diverged>([&] { Training(config).run(); }), {"diverged at step 1"});
}

TEST(Divergence, KeepsTheLastGoodEpoch) {
  // Two epochs with a good learning rate, then one with a huge rate.
  RunConfig config = iris_config();
  config.optimizer = {.name = "sgd", .lr = 0.01};
  config.schedule = {.name = "step", .step_epochs = 2, .step_factor = 1e30};
  Training training(config);
  expect_says(error_of<Diverged>([&] { training.run(); }),
              {"(epoch 3)", "end of epoch 2 are kept"});
  config.train.epochs = 2;
  config.schedule = {};
  EXPECT_EQ(Training(config).run().weights(), training.weights());
}

TEST(Target, EndsTrainingWhenItIsReached) {
  RunConfig config = iris_config();
  config.train.epochs = 100;
  config.data.validation = 0.2;
  config.train.until = "accuracy=0.9";
  Training training(config);
  training.run();
  ASSERT_TRUE(training.summary.target);
  EXPECT_TRUE(training.summary.target->reached);
  EXPECT_FALSE(training.summary.target->on_test);
  EXPECT_GE(training.summary.validation->accuracy, 0.9);
  EXPECT_LT(training.summary.epochs, 100);
  EXPECT_EQ(training.summary.target->epochs, training.summary.epochs);
  EXPECT_LE(training.summary.target->seconds, training.summary.total_seconds);
  EXPECT_EQ(training.summary.ending, Ending::early);
  // The epoch before it was not yet there.
  const auto& epochs = training.record.epochs;
  for (size_t i = 0; i + 1 < epochs.size(); ++i) EXPECT_LT(epochs[i].validation->accuracy, 0.9);
}

TEST(Target, IsLookedAtBetweenStepsToo) {
  RunConfig config = iris_config();
  config.train.epochs = 100;
  config.train.eval_every = 1;
  config.train.until = "loss=0.9";
  Training training(config);  // no validation part: on the test part
  training.run();
  EXPECT_TRUE(training.summary.target->on_test);
  EXPECT_LE(training.summary.test->loss, 0.9);
  EXPECT_NE(training.summary.epochs, std::floor(training.summary.epochs));
}

TEST(Target, MayNotBeReached) {
  RunConfig config = iris_config();
  config.train.until = "accuracy=1";
  config.optimizer.lr = 1e-6;
  Training training(config);
  training.run();
  EXPECT_FALSE(training.summary.target->reached);
  EXPECT_EQ(training.summary.ending, Ending::finished);
  EXPECT_EQ(training.summary.epochs, 5);
}

TEST(Target, OfOtherFormsIsRefused) {
  for (const char* wrong : {"0.98", "accuracy", "accuracy=", "accuracy=98", "acuracy=0.9",
                            "accuracy=0", "loss=-1", "loss=nan", "accuracy=0.9x"}) {
    RunConfig config = iris_config();
    config.train.until = wrong;
    expect_says(error_of<UserError>([&] { check(config); }),
                {"train.until", wrong, "accuracy=0.98"});
  }
  RunConfig config = iris_config();
  config.train.until = "accuracy=0.9";
  config.data.test = 0;
  expect_says(error_of<UserError>([&] { Training(config).run(); }),
              {"train.until", "data.validation"});
}

TEST(Interrupt, EndsAfterTheStepAndKeepsWhatWasLearned) {
  RunConfig config = iris_config();
  Training training(config);
  training.record.stop_at = 11;  // in the second epoch
  training.run();
  EXPECT_EQ(training.summary.ending, Ending::interrupted);
  EXPECT_EQ(training.record.steps.size(), 11u);
  EXPECT_EQ(training.summary.epochs, 1.375);  // of 8 steps each
  EXPECT_FALSE(training.summary.test.has_value());
  for (const float weight : training.weights()) EXPECT_TRUE(std::isfinite(weight));
}

TEST(Interrupt, WorksWhileWorkersPrepareBatches) {
  RunConfig config = digits_config();
  config.data.workers = 2;
  Training training(config);
  training.record.stop_at = 3;
  training.run();
  EXPECT_EQ(training.summary.ending, Ending::interrupted);
  EXPECT_EQ(training.record.steps.size(), 3u);
}

TEST(Endings, HaveNames) {
  EXPECT_STREQ(to_text(Ending::finished), "finished");
  EXPECT_STREQ(to_text(Ending::early), "stopped early");
  EXPECT_STREQ(to_text(Ending::interrupted), "interrupted");
}

}  // namespace
}  // namespace lockstep
