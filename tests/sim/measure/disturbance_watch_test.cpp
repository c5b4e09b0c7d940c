#include "sim/measure/disturbance_watch.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "sim/sim_testing.h"

namespace lockstep {
namespace {

TEST(DisturbanceWatch, FindsNothingOnAnUndisturbedMachine) {
  FakeMachine machine;
  DisturbanceWatch watch(machine);
  watch.begin();
  machine.pass(10, {.own = 18});  // both cores, nearly all the time
  EXPECT_TRUE(watch.end(0.1).quiet());
}

TEST(DisturbanceWatch, NamesOtherProgramsAndTheSlowdownTheyMayHaveCaused) {
  FakeMachine machine;
  DisturbanceWatch watch(machine);
  watch.begin();
  machine.pass(10, {.own = 10, .others = 10});
  const Quietness found = watch.end();
  EXPECT_FALSE(found.quiet());
  expect_says(found.why, {"other programs used 1.00 of 2 cores"});
  EXPECT_DOUBLE_EQ(found.slowdown, 2);
}

TEST(DisturbanceWatch, NamesTheTimeTakenByTheHost) {
  FakeMachine machine;
  DisturbanceWatch watch(machine);
  watch.begin();
  machine.pass(10, {.own = 18, .stolen = 1.8});
  expect_says(watch.end().why, {"the host took 10% of the time"});
}

TEST(DisturbanceWatch, NoticesArithmeticThatIsSlowerThanTheFastest) {
  FakeMachine machine;
  DisturbanceWatch watch(machine, 1e-6);  // half of what it takes now
  watch.begin();
  machine.pass(1, {.own = 1});
  const Quietness found = watch.end();
  expect_says(found.why, {"arithmetic took 2.0 times as long"});
  EXPECT_DOUBLE_EQ(found.slowdown, 2);
}

TEST(DisturbanceWatch, NoticesArithmeticThatIsSlowOnlyAtTheEnd) {
  FakeMachine machine;
  DisturbanceWatch watch(machine);
  watch.begin();
  machine.pass(1, {.own = 1});
  machine.arithmetic_now.mean = 3e-6;
  expect_says(watch.end().why, {"arithmetic took 1.5 times as long"});
}

TEST(DisturbanceWatch, DoesNotTrustStepsWithALargeSpread) {
  FakeMachine machine;
  DisturbanceWatch watch(machine);
  watch.begin();
  machine.pass(1, {.own = 1});
  const Quietness found = watch.end(0.64);
  expect_says(found.why, {"the median step took 1.6 times as long"});
  EXPECT_DOUBLE_EQ(found.slowdown, 1.64);
}

TEST(DisturbanceWatch, RemembersTheFastestArithmetic) {
  FakeMachine machine;
  DisturbanceWatch watch(machine, 3e-6);
  watch.begin();
  watch.end();
  EXPECT_DOUBLE_EQ(watch.fastest(), 2e-6);
}

// Number of measurements if the first `disturbed` ones are disturbed.
int times_measured(int disturbed, int attempts, double seconds = 1) {
  FakeMachine machine;
  DisturbanceWatch watch(machine);
  int measured = 0;
  measure_undisturbed(
      watch, attempts,
      [&] {
        machine.pass(seconds, {.own = seconds, .others = measured++ < disturbed ? seconds : 0});
        return 0.0;
      },
      [](const Quietness&) {});
  return measured;
}

TEST(DisturbanceWatch, RepeatsDisturbedMeasurementsAFewTimes) {
  EXPECT_EQ(times_measured(0, 3), 1);
  EXPECT_EQ(times_measured(1, 3), 2);
  EXPECT_EQ(times_measured(9, 3), 3);
  EXPECT_EQ(times_measured(9, 3, 20), 1);  // no repetition after 10 seconds
}

TEST(DisturbanceWatch, CountsTheWorkOfThisProcessAsItsOwn) {
  const ThisMachine machine;
  const WallClock clock;
  const CoreSeconds before = machine.core_seconds();
  for (const double start = clock.seconds(); clock.seconds() - start < 0.1;)
    for (int i = 0; i < 1000; ++i) __asm__ volatile("");  // busy
  const CoreSeconds after = machine.core_seconds();
  EXPECT_GT(after.own - before.own, 0.02);
  EXPECT_GE(after.busy - before.busy, after.own - before.own - 0.05);  // in ticks of 10 ms
  EXPECT_GE(machine.cores(), 1);
  const Arithmetic arithmetic = machine.arithmetic();
  EXPECT_GT(arithmetic.fastest, 0);
  EXPECT_GE(arithmetic.mean, arithmetic.fastest);
}

}  // namespace
}  // namespace lockstep
