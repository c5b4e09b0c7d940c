#include "sim/point/point_costs.h"

#include "sim/sim_testing.h"

namespace lockstep {
namespace {

NetworkCosts network(double step, const std::string& disturbed_by = "", double slowdown = 1) {
  NetworkCosts costs;
  costs.rows = costs.parameters = 1;
  costs.measured = time_text();
  costs.quietness = {disturbed_by, slowdown};
  costs.by_ranks[1].micro_batch = step;
  costs.by_ranks[1].typical = 1.2;
  return costs;
}

// Step of the profile after `measured` is added to `known`.
double kept(const NetworkCosts& known, const NetworkCosts& measured,
            Measuring measuring = Measuring::once_more) {
  Profile profile;
  profile.version = LOCKSTEP_VERSION;
  profile.networks["n"] = known;
  keep_measured(profile, "n", measured, measuring);
  return profile.networks["n"].by_ranks[1].step();
}

TEST(KeptCosts, ADisturbedMeasurementNeverReplacesACleanOne) {
  for (const Measuring measuring :
       {Measuring::where_needed, Measuring::once_more, Measuring::again})
    EXPECT_EQ(kept(network(5), network(3, "a neighbour", 2), measuring), 5);
  NetworkCosts old = network(5);
  old.measured = "2020-01-01 00:00:00 UTC";
  EXPECT_EQ(kept(old, network(3, "a neighbour", 2)), 5);
}

TEST(KeptCosts, ACleanMeasurementReplacesADisturbedOneEvenIfItIsSlower) {
  EXPECT_EQ(kept(network(3, "a neighbour", 2), network(5)), 5);
  EXPECT_EQ(kept(network(5, "a neighbour", 2), network(3)), 3);
}

TEST(KeptCosts, TheFasterOfTwoCleanOnesIsKeptUnlessRecalibratingOrStale) {
  EXPECT_EQ(kept(network(3), network(5)), 3);
  EXPECT_EQ(kept(network(5), network(3)), 3);
  EXPECT_EQ(kept(network(3), network(5), Measuring::again), 5);
  NetworkCosts old = network(3);
  old.measured = "2020-01-01 00:00:00 UTC";
  EXPECT_EQ(kept(old, network(5), Measuring::where_needed), 5);
}

TEST(KeptCosts, TheFasterOfTwoDisturbedOnesAndTheSmallerSlowdownAreKept) {
  NetworkCosts costs = network(5, "much", 3);
  costs.keep_better(network(4, "little", 1.5));
  EXPECT_EQ(costs.by_ranks[1].step(), 4);
  EXPECT_EQ(costs.quietness.why, "little");
}

TEST(KeptCosts, MediansOfTwoMeasurementsAreAveraged) {
  NetworkCosts costs = network(5);  // median 6
  costs.keep_better(network(4));    // median 4.8
  EXPECT_DOUBLE_EQ(costs.by_ranks[1].step() * costs.by_ranks[1].typical, 5.4);
}

TEST(KeptCosts, TheSpreadOfShortStepsIndicatesNoDisturbance) {
  EXPECT_NEAR(network(5e-3).spread(), 0.2, 1e-12);
  EXPECT_EQ(network(5e-6).spread(), 0);
}

TEST(KeptTables, ADisturbedMeasurementNeverReplacesACleanOne) {
  const auto tables = [](double seconds) {
    std::map<std::string, SizeTable> made;
    made["barrier"].add(64, seconds);
    return made;
  };
  std::map<std::string, SizeTable> known;
  Quietness quietness;
  keep_better_tables(known, quietness, tables(3), {"a neighbour", 2});
  EXPECT_FALSE(quietness.quiet());
  keep_better_tables(known, quietness, tables(5), {});  // slower, but undisturbed
  EXPECT_TRUE(quietness.quiet());
  EXPECT_EQ(known["barrier"].at(64), 5);
  keep_better_tables(known, quietness, tables(1), {"a neighbour", 2});
  EXPECT_TRUE(quietness.quiet());
  EXPECT_EQ(known["barrier"].at(64), 5);
}

class Measured : public testing::Test {
 protected:
  FixedProfile fixed;
  const SimulatedPoint point = place_point(fixed.config, test_cluster(), 1, 0, false);
  Measured() { fixed.profile.threads.clear(); }  // not needed by these tests
  NetworkCosts& known() { return fixed.profile.networks.begin()->second; }
  FakeMachine machine;
};

TEST_F(Measured, CleanCostsAreUsedAsTheyAre) {
  costs_for(point, fixed.data, fixed.profile, Measuring::where_needed, 1, machine);
  EXPECT_EQ(fixed.profile.new_measurements, 0);
}

TEST_F(Measured, DisturbedCostsAreMeasuredAgainAsSoonAsTheMachineIsQuiet) {
  known().quietness = {"a neighbour", 9};
  FakeMachine busy;
  busy.stay_busy();
  costs_for(point, fixed.data, fixed.profile, Measuring::where_needed, 1, busy);
  EXPECT_EQ(fixed.profile.new_measurements, 0);
  costs_for(point, fixed.data, fixed.profile, Measuring::where_needed, 1, machine);
  EXPECT_EQ(fixed.profile.new_measurements, 1);
}

TEST_F(Measured, CostsOfABusyMachineAreMeasuredSeveralTimesAndLabelled) {
  fixed.profile.networks.clear();
  machine.stay_busy();
  const NetworkCosts costs =
      costs_for(point, fixed.data, fixed.profile, Measuring::where_needed, 2, machine);
  EXPECT_EQ(machine.looks, 4);  // before and after each
  expect_says(costs.quietness.why, {"other programs"});
  EXPECT_GT(costs.quietness.slowdown, 1);
}

TEST_F(Measured, RecalibratingOnABusyMachineKeepsCleanCosts) {
  machine.stay_busy();
  const double before = known().by_ranks.at(1).step();
  costs_for(point, fixed.data, fixed.profile, Measuring::again, 1, machine);
  EXPECT_EQ(fixed.profile.new_measurements, 1);
  EXPECT_EQ(known().by_ranks.at(1).step(), before);
}

// The profile's machine has 2 cores, the cluster's nodes have 16.
class ManyThreads : public testing::Test {
 protected:
  FixedProfile fixed;
  const Cluster cluster = test_cluster(1, 16);

  ManyThreads() {
    // With 2 threads a step takes 0.6 of the time: a fifth of it does not get faster with threads.
    RunConfig two = fixed.config;
    two.device.threads = 2;
    NetworkCosts costs = fixed.profile.networks.begin()->second;
    costs.by_ranks.erase(2);
    costs.by_ranks.at(1).scale_arithmetic(0.6);
    fixed.profile.networks[network_key(two, fixed.data.train->sample_shape(), 8)] = costs;
  }
  Prediction with_threads(int threads) const {
    RunConfig config = fixed.config;
    config.device.threads = threads;
    return simulate_point(place_point(config, cluster, 1, 0, false), fixed.data, fixed.profile,
                          cluster, {.loading = false});
  }
};

TEST_F(ManyThreads, AreExtrapolatedFromMeasurementsAndLabelled) {
  const double alone = with_threads(1).step_seconds;
  const Prediction measured = with_threads(2), more = with_threads(4);
  EXPECT_NEAR(measured.step_seconds, 0.6 * alone, 1e-9);
  EXPECT_FALSE(measured.extrapolated);
  EXPECT_NEAR(more.step_seconds, (0.2 + 0.8 / 4) * alone, 1e-9);
  EXPECT_TRUE(more.extrapolated);
  expect_says(fmt::format("{}", fmt::join(more.cautions, "\n")),
              {"4 threads per rank", "Amdahl", "20% of a step"});
  EXPECT_LT(more.low / more.step_seconds, measured.low / measured.step_seconds);
}

TEST_F(ManyThreads, AreNeverMeasuredOnFewerCores) {
  RunConfig config = fixed.config;
  config.device.threads = 4;
  const SimulatedPoint point = place_point(config, cluster, 1, 0, false);
  costs_for(point, fixed.data, fixed.profile, Measuring::where_needed);
  EXPECT_EQ(fixed.profile.new_measurements, 0);
  EXPECT_EQ(fixed.profile.networks.size(), 2u);
  expect_user_error([&] { refine_costs(point, fixed.data, fixed.profile, 0.1); },
                    {"4 threads per rank cannot be measured on 2 cores"});
  fixed.profile.cores = 1;
  expect_user_error([&] { costs_for(point, fixed.data, fixed.profile, Measuring::never); },
                    {"one core", "--threads 1"});
}

TEST_F(ManyThreads, OnANodeWithFewerCoresNeedOversubscribe) {
  RunConfig config = fixed.config;
  config.device.threads = 4;
  expect_user_error([&] { place_point(config, test_cluster(), 1, 0, false); },
                    {"1 rank of 4 threads", "--oversubscribe"});
  // Then only one thread per core computes.
  EXPECT_EQ(place_point(config, test_cluster(), 1, 0, true).threads(), 2);
}

}  // namespace
}  // namespace lockstep
