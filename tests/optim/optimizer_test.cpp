// Each optimiser against its formula, computed by hand for one weight.

#include "optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

class Optimizers : public testing::TestWithParam<std::string> {
 protected:
  // A weight of 1 after steps with these gradients at a learning rate of 0.1.
  float after(const OptimizerConfig& config, const std::vector<float>& gradients, float scale = 1) {
    const auto device = make_device({.name = GetParam()});
    Optimizer optimizer(config, *device, 1);
    std::vector<float> weight = {1};
    for (const float gradient : gradients)
      optimizer.step(weight, std::span(&gradient, 1), 0.1f, scale);
    EXPECT_EQ(optimizer.steps(), static_cast<int64_t>(gradients.size()));
    return weight[0];
  }
};

TEST_P(Optimizers, SgdGoesDownTheGradient) {
  EXPECT_NEAR(after({.name = "sgd"}, {0.5f}), 0.95, 1e-6);
  EXPECT_NEAR(after({.name = "sgd"}, {0.5f, -1.0f}), 1.05, 1e-6);
}

TEST_P(Optimizers, SgdDecayIsPartOfTheGradient) {
  // 1 - 0.1 (0.5 + 0.2 * 1)
  EXPECT_NEAR(after({.name = "sgd", .weight_decay = 0.2}, {0.5f}), 0.93, 1e-6);
}

TEST_P(Optimizers, MomentumRemembersEarlierGradients) {
  // v: 0.5, then 0.9 * 0.5 + 1 = 1.45, then 0.9 * 1.45 + 0 = 1.305
  EXPECT_NEAR(after({.name = "momentum"}, {0.5f}), 0.95, 1e-6);
  EXPECT_NEAR(after({.name = "momentum"}, {0.5f, 1.0f}), 0.95 - 0.145, 1e-6);
  EXPECT_NEAR(after({.name = "momentum"}, {0.5f, 1.0f, 0.0f}), 0.95 - 0.145 - 0.1305, 1e-6);
  EXPECT_NEAR(after({.name = "momentum", .momentum = 0}, {0.5f, 1.0f}), 0.85, 1e-6);
}

TEST_P(Optimizers, NesterovLooksAhead) {
  // g + 0.9 v: 0.5 + 0.45, then 1 + 0.9 * 1.45
  EXPECT_NEAR(after({.name = "nesterov"}, {0.5f}), 1 - 0.095, 1e-6);
  EXPECT_NEAR(after({.name = "nesterov"}, {0.5f, 1.0f}), 1 - 0.095 - 0.2305, 1e-6);
}

TEST_P(Optimizers, AdagradDividesByTheRootOfAllSquares) {
  // Squares: 0.25, then 1.25; steps of 0.1 g / root.
  EXPECT_NEAR(after({.name = "adagrad"}, {0.5f}), 0.9, 1e-6);
  EXPECT_NEAR(after({.name = "adagrad"}, {0.5f, -1.0f}), 0.9 + 0.1 / std::sqrt(1.25), 1e-6);
  EXPECT_NEAR(after({.name = "adagrad"}, {0.0f}), 1, 1e-6);
}

TEST_P(Optimizers, AdamsFirstStepIsTheRateWhateverTheGradient) {
  for (const float gradient : {1e-3f, 0.5f, 100.0f})
    EXPECT_NEAR(after({.name = "adam"}, {gradient}), 0.9, 2e-6);
  EXPECT_NEAR(after({.name = "adam"}, {-0.5f}), 1.1, 2e-6);
}

TEST_P(Optimizers, AdamFollowsItsFormula) {
  // m = 0.9 * 0.05 + 0.1 * (-1) = -0.055; v = 0.999 * 0.00025 + 0.001 * 1 = 0.00124975
  const double m = -0.055 / (1 - 0.81), v = 0.00124975 / (1 - 0.998001);
  EXPECT_NEAR(after({.name = "adam"}, {0.5f, -1.0f}), 0.9 - 0.1 * m / std::sqrt(v), 3e-6);
}

TEST_P(Optimizers, AdamsEpsilonIsOutsideTheRoot) {
  EXPECT_NEAR(after({.name = "adam", .epsilon = 0.5}, {0.5f}), 1 - 0.1 * 0.5 / (0.5 + 0.5), 2e-6);
}

TEST_P(Optimizers, AdamsDecayIsPartOfTheGradientAndAdamwsIsNot) {
  // With decay 0.2, adam sees 0.5 + 0.2 and still moves by the rate; adamw shrinks the weight
  // first.
  EXPECT_NEAR(after({.name = "adam", .weight_decay = 0.2}, {0.5f}), 0.9, 2e-6);
  EXPECT_NEAR(after({.name = "adam", .weight_decay = 0.2}, {-0.1f}), 0.9, 2e-6);
  EXPECT_NEAR(after({.name = "adamw", .weight_decay = 0.2}, {0.5f}), 1 - 0.02 - 0.1, 2e-6);
  EXPECT_NEAR(after({.name = "adamw", .weight_decay = 0.2}, {-0.1f}), 1 - 0.02 + 0.1, 2e-6);
}

TEST_P(Optimizers, AGradientOfZeroChangesNothing) {
  for (const std::string& name : optimizer_names())
    EXPECT_EQ(after({.name = name}, {0.0f, 0.0f}), 1.0f) << name;
}

TEST_P(Optimizers, GradientsAreScaledBeforeTheUpdate) {
  EXPECT_NEAR(after({.name = "sgd"}, {0.5f}, 0.25f), 1 - 0.0125, 1e-6);
  // Weight decay is not scaled.
  EXPECT_NEAR(after({.name = "sgd", .weight_decay = 0.2}, {0.5f}, 0.25f), 1 - 0.0325, 1e-6);
  EXPECT_NEAR(after({.name = "momentum"}, {0.5f, 1.0f}, 0.5f), 1 - 0.025 - 0.0725, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Devices, Optimizers, testing::Values("cpu", "reference"),
                         [](const auto& info) { return info.param; });

TEST(Optimizer, AMisspelledNameGetsASuggestion) {
  const auto device = make_device({.name = "cpu"});
  try {
    Optimizer({.name = "adma"}, *device, 1);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "optimizer.name = \"adma\" is not known; did you mean 'adam'?");
  }
}

TEST(Optimizer, StepsOnlyOnTheWeightsItIsGiven) {
  const auto device = make_device({.name = "cpu", .threads = 2});
  constexpr size_t count = 1003;  // not a whole number of vectors
  Optimizer optimizer({.name = "adam"}, *device, count);
  std::vector<float> weights(count + 5, 2.0f), gradients(count + 5, 1.0f);
  optimizer.step(std::span(weights).first(count), std::span(gradients).first(count), 0.5f, 1);
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(weights[i], i < count ? 1.5f : 2.0f, 1e-5) << i;
}

}  // namespace
}  // namespace lockstep
