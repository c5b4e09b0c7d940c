// The learning rate at known points of a run.

#include "optim/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

double rate(const ScheduleConfig& schedule, double epochs_done, int64_t ranks = 1) {
  return learning_rate(schedule, 0.1, epochs_done, 20, ranks);
}

TEST(Schedule, ConstantStays) {
  for (const double done : {0.0, 0.5, 10.0, 20.0}) EXPECT_DOUBLE_EQ(rate({}, done), 0.1);
}

TEST(Schedule, StepDropsAtWholeMultiples) {
  const ScheduleConfig step{.name = "step", .step_epochs = 5, .step_factor = 0.5};
  EXPECT_DOUBLE_EQ(rate(step, 0), 0.1);
  EXPECT_DOUBLE_EQ(rate(step, 4.99), 0.1);
  EXPECT_DOUBLE_EQ(rate(step, 5), 0.05);
  EXPECT_DOUBLE_EQ(rate(step, 9.99), 0.05);
  EXPECT_DOUBLE_EQ(rate(step, 19.99), 0.0125);
}

TEST(Schedule, CosineFallsSlowlyAtBothEnds) {
  const ScheduleConfig cosine{.name = "cosine"};
  EXPECT_DOUBLE_EQ(rate(cosine, 0), 0.1);
  EXPECT_NEAR(rate(cosine, 5), 0.1 * (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_NEAR(rate(cosine, 10), 0.05, 1e-12);
  EXPECT_NEAR(rate(cosine, 20), 0, 1e-12);
  EXPECT_NEAR(rate(cosine, 25), 0, 1e-12);
}

TEST(Schedule, CosineAndLinearEndAtTheFinalFactor) {
  for (const char* name : {"cosine", "linear"}) {
    const ScheduleConfig schedule{.name = name, .final_factor = 0.2};
    EXPECT_NEAR(rate(schedule, 0), 0.1, 1e-12);
    EXPECT_NEAR(rate(schedule, 10), 0.06, 1e-12);
    EXPECT_NEAR(rate(schedule, 20), 0.02, 1e-12);
  }
}

TEST(Schedule, LinearFallsEvenly) {
  const ScheduleConfig linear{.name = "linear"};
  EXPECT_NEAR(rate(linear, 5), 0.075, 1e-12);
  EXPECT_NEAR(rate(linear, 15), 0.025, 1e-12);
}

TEST(Schedule, WarmUpGrowsFromZero) {
  const ScheduleConfig warm{.warmup_epochs = 4};
  EXPECT_DOUBLE_EQ(rate(warm, 0), 0);
  EXPECT_DOUBLE_EQ(rate(warm, 1), 0.025);
  EXPECT_DOUBLE_EQ(rate(warm, 3), 0.075);
  EXPECT_DOUBLE_EQ(rate(warm, 4), 0.1);
  EXPECT_DOUBLE_EQ(rate(warm, 12), 0.1);
}

TEST(Schedule, TheDecayStartsAfterTheWarmUp) {
  const ScheduleConfig warm{.name = "linear", .warmup_epochs = 4};
  EXPECT_DOUBLE_EQ(rate(warm, 2), 0.05);
  EXPECT_DOUBLE_EQ(rate(warm, 4), 0.1);
  EXPECT_NEAR(rate(warm, 12), 0.05, 1e-12);  // half of the remaining 16 epochs
  EXPECT_NEAR(rate(warm, 20), 0, 1e-12);
}

TEST(Schedule, AWarmUpAsLongAsTheRunDoesNotDivideByZero) {
  for (const std::string& name : schedule_names()) {
    const ScheduleConfig warm{.name = name, .warmup_epochs = 20};
    EXPECT_TRUE(std::isfinite(rate(warm, 20))) << name;
    EXPECT_DOUBLE_EQ(rate(warm, 10), 0.05) << name;
  }
}

TEST(Schedule, ScalesWithTheNumberOfRanksIfConfigured) {
  const ScheduleConfig scaled{.name = "linear", .warmup_epochs = 4, .scale_with_ranks = true};
  EXPECT_DOUBLE_EQ(rate(scaled, 4, 8), 0.8);
  EXPECT_DOUBLE_EQ(rate(scaled, 1, 8), 0.2);
  EXPECT_DOUBLE_EQ(rate(ScheduleConfig{}, 4, 8), 0.1);
}

TEST(Schedule, AMisspelledNameGetsASuggestion) {
  try {
    rate({.name = "cosinus"}, 1);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "schedule.name = \"cosinus\" is not known; did you mean 'cosine'?");
  }
}

}  // namespace
}  // namespace lockstep
