#include "sim/point/certainty.h"

#include "sim/sim_testing.h"

namespace lockstep {
namespace {

// A point whose steps compute for 8 ms and communicate for 2 ms.
struct Certainty : testing::Test {
  Certainty() {
    fixed.profile.cores = 4;
    cost = fixed.profile.networks.begin()->second.by_ranks.at(1);
    cost.typical = 1.25;
    cost.low = 1;
    cost.high = 1.5;
    costs = fixed.profile.networks.begin()->second;
  }

  Prediction stated(double sharing = 1) {
    SimulatedPoint point{.config = fixed.config, .per_node = per_node, .nodes = nodes};
    point.config.parallel.ranks = per_node * nodes;
    Prediction p;
    p.nodes = nodes;
    p.step_seconds = 10e-3;
    p.undisturbed_step_seconds = undisturbed;
    p.times = {.load = 1e-3, .compute = 7e-3, .hidden = 0, .exposed = 1e-3, .waiting = 1e-3};
    p.oversubscribed = oversubscribed;
    state_certainty(p, {.point = point,
                        .data = fixed.data,
                        .profile = fixed.profile,
                        .cluster = cluster,
                        .costs = costs,
                        .cost = cost,
                        .sharing = sharing});
    return p;
  }
  static bool mentions(const Prediction& p, const std::string& words) {
    for (const std::string& caution : p.cautions)
      if (caution.find(words) != std::string::npos) return true;
    return false;
  }

  FixedProfile fixed;
  NetworkCosts costs;
  StepCost cost;
  Cluster cluster = machine_cluster("this", 4, 1e9);
  int per_node = 2, nodes = 1;
  double undisturbed = 8e-3;
  bool oversubscribed = false;
};

// Computing: 8 ms, of which the spread takes a fifth and the model 6%; communication: 2 ms, 10%.
TEST_F(Certainty, TheBandAddsSpreadModelAndMessages) {
  const Prediction p = stated();
  const double communication = 2e-3 * 0.10 + 8e-3 * 0.06;
  EXPECT_NEAR(p.low, 10e-3 - 8e-3 * (1 - 1 / 1.25) - communication, 1e-12);
  EXPECT_NEAR(p.high, 10e-3 + 8e-3 * (1.5 / 1.25 - 1) + communication, 1e-12);
  EXPECT_FALSE(p.disturbed);
  EXPECT_FALSE(p.extrapolated);
  EXPECT_TRUE(p.cautions.empty());
}

TEST_F(Certainty, WhatWasNotMeasuredWidensTheBandAndIsSaid) {
  const double usual = stated().high;
  oversubscribed = true;
  EXPECT_NEAR(stated().high - usual, 8e-3 * 0.25, 1e-12);
  EXPECT_TRUE(mentions(stated(), "more ranks than cores"));
  oversubscribed = false;

  per_node = 6;
  EXPECT_NEAR(stated().high - usual, 8e-3 * 0.05, 1e-12);
  EXPECT_TRUE(mentions(stated(), "6 ranks per node"));
  per_node = 1;

  cluster = test_cluster(2, 4);
  nodes = 2;
  EXPECT_NEAR(stated().high - usual, 2e-3 * (0.15 - 0.10), 1e-12);
  EXPECT_TRUE(mentions(stated(), "network speeds are those of the cluster file"));

  cluster.kinds[0].speed = 0.5;
  EXPECT_NEAR(stated().high - usual, 2e-3 * (0.15 - 0.10) + 8e-3 * 0.15, 1e-12);
  EXPECT_TRUE(mentions(stated(), "another processor"));
}

TEST_F(Certainty, ThreadsBeyondTheMeasuredCoresAreExtrapolated) {
  const double usual = stated().high;
  for (const int threads : {1, 4}) {
    fixed.config.device.threads = threads;
    fixed.add(fixed.config);
  }
  fixed.config.device.threads = 8;
  per_node = 1;
  const Prediction p = stated();
  EXPECT_TRUE(p.extrapolated);
  EXPECT_TRUE(mentions(p, "extrapolated by Amdahl's law"));
  EXPECT_NEAR(p.high - usual, 8e-3 * 0.15, 1e-12);
}

TEST_F(Certainty, ADisturbedMeasurementIsLabelledAndLowersTheBand) {
  const Prediction clean = stated();
  costs.quietness = {"a neighbour", 1.5};
  const Prediction p = stated();
  EXPECT_TRUE(p.disturbed);
  EXPECT_NEAR(p.low, clean.low / 1.5, 1e-12);
  EXPECT_EQ(p.high, clean.high);
  EXPECT_TRUE(mentions(p, "a neighbour"));
  EXPECT_TRUE(mentions(p, "up to 1.5 times"));
}

TEST_F(Certainty, DisturbedMessagesCountOnlyWhereRanksShareANode) {
  fixed.profile.mpi_quietness = {"a neighbour", 2};
  EXPECT_TRUE(stated().disturbed);
  cluster = test_cluster(2, 4);
  per_node = 1;
  nodes = 2;
  EXPECT_FALSE(stated().disturbed);
}

TEST_F(Certainty, ShortStepsOfSeveralRanksCarryACaution) {
  undisturbed = 50e-6;
  EXPECT_TRUE(mentions(stated(), "steps below 0.1 ms"));
  per_node = 1;
  EXPECT_FALSE(mentions(stated(), "steps below 0.1 ms"));
}

}  // namespace
}  // namespace lockstep
