#include "sim/point/simulation.h"

#include "comm/conformance.h"
#include "os/apart.h"
#include "sim/engine/engine.h"
#include "sim/sim_testing.h"

namespace lockstep {
namespace {

// Two kernels, 1 ms forward and 2 ms backward each, and 0.7 ms outside them.
constexpr double step_alone = 6.7e-3;

TEST(Simulation, OneRankTakesTheTimeOfItsKernels) {
  const FixedProfile fixed;
  for (const Engine engine : {Engine::simgrid, Engine::analytic}) {
    const Prediction p = predict(fixed, fixed.config, test_cluster(), 1, 0, engine);
    EXPECT_NEAR(p.step_seconds, step_alone, 1e-9);
    EXPECT_EQ(p.steps, 15);
    EXPECT_NEAR(p.epoch_seconds, 15 * step_alone, 1e-9);
  }
}

// Any change of a prediction fails here.
TEST(Simulation, PredictionsArePinned) {
  const FixedProfile fixed;
  struct Pinned {
    const char* strategy;
    const char* backend;
    int64_t ranks, nodes;
    double seconds;
  };
  const Pinned all[] = {
      {"all-reduce", "mpi", 2, 2, 6.766044e-3},
      {"all-reduce", "mpi", 2, 1, 12.70220489e-3},
      {"all-reduce", "threads", 2, 1, 12.70308e-3},
      {"reduce-broadcast", "mpi", 4, 4, 6.972386e-3},
      {"parameter-server", "mpi", 3, 3, 6.859072e-3},
      {"scatter-gather", "mpi", 4, 2, 12.83991200e-3},
      {"average-weights", "mpi", 8, 8, 6.7e-3},
  };
  for (const Pinned& p : all) {
    RunConfig config = with_strategy(fixed.config, p.strategy);
    config.parallel.backend = *from_text<Backend>(p.backend);
    const Prediction got = predict(fixed, config, test_cluster(), p.ranks, p.nodes);
    EXPECT_NEAR(got.step_seconds, p.seconds, 1e-8)
        << p.strategy << " " << p.backend << " " << p.ranks << " on " << p.nodes;
  }
}

// Kernels of two training ranks on one node take twice as long here; a server only waits.
TEST(Simulation, ServersDoNotContendWithTrainingRanks) {
  const FixedProfile fixed;
  RunConfig config = with_strategy(fixed.config, "parameter-server");
  for (const char* backend : {"threads", "mpi"}) {
    config.parallel.backend = *from_text<Backend>(backend);
    const double step = predict(fixed, config, test_cluster(), 2, 1).step_seconds;
    EXPECT_GT(step, step_alone) << backend;
    EXPECT_LT(step, step_alone + 0.1e-3) << backend;
  }
  config.parallel.ranks = 3;  // two train on the first node, the server is alone on the second
  const SimulatedPoint point = place_point(config, test_cluster(), 3, 2, false);
  const NetworkCosts& costs = fixed.profile.networks.begin()->second;
  const Cluster cluster = test_cluster();
  PointCosts of_ranks(point, costs, fixed.profile, cluster);
  EXPECT_DOUBLE_EQ(of_ranks.of_rank(0).kernels[0].forward, 2e-3);
  EXPECT_DOUBLE_EQ(of_ranks.of_rank(2).kernels[0].forward, 1e-3);
}

// 1 Gbit/s: 4 workers push 12.6 ms of gradients each through the server's link, and pull as much.
TEST(Simulation, AServerSendsWeightsWhileGradientsArrive) {
  FixedProfile fixed;
  fixed.config.model.layers = {"dense 620 relu", "dense 620 relu", "dense 3"};
  fixed.config.parallel.backend = Backend::mpi;
  fixed.add(fixed.config);
  const RunConfig config = with_strategy(fixed.config, "parameter-server");
  for (const Engine engine : {Engine::simgrid, Engine::analytic}) {
    const double step = predict(fixed, config, test_cluster(), 5, 5, engine).step_seconds;
    EXPECT_GT(step, 4 * 12.6e-3 + step_alone);
    EXPECT_LT(step, 1.25 * 4 * 12.6e-3 + step_alone);
  }
}

TEST(Simulation, AShortStepOfSeveralRanksSaysThatSoftwareOverheadIsLeftOut) {
  FixedProfile fixed;
  const auto cautions = [&](int ranks) {
    std::string all;
    for (const std::string& one : predict(fixed, fixed.config, test_cluster(), ranks, 1).cautions)
      all += one + "\n";
    return all;
  };
  EXPECT_EQ(cautions(2).find("below 0.1 ms"), std::string::npos);
  for (auto& [ranks, cost] : fixed.profile.networks.begin()->second.by_ranks)
    cost.scale_arithmetic(1e-3);
  EXPECT_NE(cautions(2).find("below 0.1 ms"), std::string::npos);
  EXPECT_EQ(cautions(1).find("below 0.1 ms"), std::string::npos);
}

TEST(Simulation, MessagesOverlapTheBackwardPass) {
  const FixedProfile fixed;
  const Cluster slow = parse_cluster(
      "name = \"slow\"\n[node]\ncount = 2\ncores = 2\nmemory_gb = 4\n[network]\n"
      "bandwidth_gbit = 0.01\nlatency_us = 50\nefficiency = 1\n",
      "slow.toml");
  RunConfig config = fixed.config;
  config.parallel.bucket_mb = 1e-4;  // one bucket per layer
  config.parallel.overlap = false;
  const double apart = predict(fixed, config, slow, 2, 2).step_seconds;
  config.parallel.overlap = true;
  // The last layer's gradients are in flight during the 2 ms of the first layer.
  EXPECT_LT(predict(fixed, config, slow, 2, 2).step_seconds, apart - 1.5e-4);
}

TEST(Simulation, DisturbancesSlowStepsDown) {
  const FixedProfile fixed;
  const Cluster quiet = test_cluster();
  Cluster slow = quiet, noisy = quiet;
  disturb(slow, "stragglers=1");
  disturb(noisy, "noise=0.3");
  const double before = predict(fixed, fixed.config, quiet, 8, 8).step_seconds;
  EXPECT_NEAR(predict(fixed, fixed.config, slow, 8, 8).step_seconds - before, step_alone, 2e-4);
  EXPECT_GT(predict(fixed, fixed.config, noisy, 8, 8).step_seconds, before * 1.1);
}

Cluster with_noise(Cluster cluster, double noise) {
  disturb(cluster, fmt::format("noise={}", noise));
  return cluster;
}

TEST(Simulation, NoisePreservesTheMeanOfOneRank) {
  FixedProfile fixed;
  for (const int64_t seed : {1, 2, 3})
    for (const double noise : {0.1, 0.3}) {
      fixed.config.seed = seed;
      for (const Engine engine : {Engine::simgrid, Engine::analytic}) {
        const Prediction p =
            predict(fixed, fixed.config, with_noise(test_cluster(), noise), 1, 0, engine);
        EXPECT_NEAR(p.step_seconds / step_alone, 1, 0.02) << noise;
        EXPECT_NEAR(p.undisturbed_step_seconds, step_alone, 1e-9);
      }
    }
}

// Ranks that wait for each other wait for the slowest: two ranks take 1 + 0.1 / sqrt(pi).
TEST(Simulation, NoiseOfSeveralRanksMakesThemWait) {
  const FixedProfile fixed;
  const Cluster quiet = test_cluster(), noisy = with_noise(quiet, 0.1);
  for (const Engine engine : {Engine::simgrid, Engine::analytic})
    for (const auto& [ranks, longer] : {std::pair(2, 1.056), std::pair(8, 1.142)})
      EXPECT_NEAR(predict(fixed, fixed.config, noisy, ranks, ranks, engine).step_seconds /
                      predict(fixed, fixed.config, quiet, ranks, ranks, engine).step_seconds,
                  longer, 0.02)
          << ranks;
}

TEST(Simulation, NoiseFollowsTheSeed) {
  FixedProfile fixed;
  const Cluster noisy = with_noise(test_cluster(), 0.1);
  const auto step = [&](int64_t seed) {
    fixed.config.seed = seed;
    return predict(fixed, fixed.config, noisy, 2, 2).step_seconds;
  };
  EXPECT_EQ(step(1), step(1));
  EXPECT_NE(step(1), step(2));
}

TEST(Simulation, StatesTheExpectedAndTheUndisturbedStep) {
  FixedProfile fixed;
  for (auto& [ranks, cost] : fixed.profile.networks.begin()->second.by_ranks) {
    cost.low = 1.05;
    cost.typical = 1.2;
    cost.high = 1.3;
  }
  const Prediction alone = predict(fixed, fixed.config, test_cluster(), 1, 0);
  EXPECT_NEAR(alone.undisturbed_step_seconds, step_alone, 1e-9);
  EXPECT_NEAR(alone.step_seconds, 1.2 * step_alone, 1e-9);
  EXPECT_NEAR(alone.epoch_seconds, 15 * 1.2 * step_alone, 1e-9);
  EXPECT_NEAR(alone.times.compute, 1.2 * step_alone, 1e-9);
  // The band covers the spread of medians and the error of the model.
  EXPECT_LT(alone.low, 1.05 * step_alone);
  EXPECT_GT(alone.high, 1.3 * step_alone);
  EXPECT_GT(alone.low, 0.9 * step_alone);
  EXPECT_LT(alone.high, 1.45 * step_alone);
  // Links between nodes are as fast as the cluster file says; within a node messages are slowed
  // down like computing.
  const Prediction apart = predict(fixed, fixed.config, test_cluster(), 2, 2);
  EXPECT_NEAR(apart.step_seconds - apart.undisturbed_step_seconds, 0.2 * step_alone, 1e-6);
  const Prediction together = predict(fixed, fixed.config, test_cluster(), 2, 1);
  EXPECT_NEAR(together.step_seconds, 1.2 * together.undisturbed_step_seconds, 1e-9);
}

TEST(Simulation, SaysWhenKernelsWereMeasuredOnABusyMachineAndWidensItsBand) {
  FixedProfile fixed;
  const Prediction clean = predict(fixed, fixed.config, test_cluster(), 1, 0);
  EXPECT_FALSE(clean.disturbed);
  fixed.profile.networks.begin()->second.quietness = {"other programs used 1.50 of 2 cores", 3.3};
  const Prediction busy = predict(fixed, fixed.config, test_cluster(), 1, 0);
  EXPECT_TRUE(busy.disturbed);
  expect_says(busy.cautions.at(0), {"measured while the machine was busy", "1.50 of 2 cores",
                                    "3.3 times", "--recalibrate"});
  EXPECT_LT(busy.low, clean.step_seconds / 3.3);
  EXPECT_GE(busy.high, clean.high);
}

TEST(Simulation, SaysWhenMessagesWereMeasuredOnABusyMachine) {
  FixedProfile fixed;
  fixed.profile.mpi_quietness = {"the host took 10% of the time (steal)", 1.5};
  EXPECT_FALSE(predict(fixed, fixed.config, test_cluster(), 2, 2).disturbed);  // one per node
  fixed.config.parallel.backend = Backend::threads;
  EXPECT_FALSE(predict(fixed, fixed.config, test_cluster(), 2, 1).disturbed);
  fixed.config.parallel.backend = Backend::mpi;
  const Prediction p = predict(fixed, fixed.config, test_cluster(), 2, 1);
  EXPECT_TRUE(p.disturbed);
  expect_says(p.cautions.at(0),
              {"messages between ranks were measured while the machine was busy"});
}

TEST(Simulation, AFailureCostsTheWorkSinceTheLastCheckpoint) {
  FixedProfile fixed;
  fixed.config.train.checkpoint_every = 10;
  fixed.config.parallel.timeout = 30;
  Prediction p;
  p.step_seconds = 1;
  p.total_seconds = 1000;
  const Disturbance lost{.fails_at = 505, .restart = 60};
  account_for_failure(p, fixed.config, lost, 2);
  EXPECT_DOUBLE_EQ(p.lost_seconds, 5 + 30 + 60);
  EXPECT_DOUBLE_EQ(p.total_seconds, 1095);
  EXPECT_DOUBLE_EQ(p.checkpoint_interval, std::sqrt(2 * 2 * 505.0));
}

TEST(Simulation, SaysWhatDoesNotFit) {
  const FixedProfile fixed;
  const Cluster cluster = test_cluster();
  expect_user_error([&] { place_point(fixed.config, cluster, 17, 0, false); },
                    {"more than the 16"});
  expect_user_error([&] { place_point(fixed.config, cluster, 9, 9, false); }, {"has 8"});
  RunConfig threads = fixed.config;
  threads.parallel.backend = Backend::threads;
  expect_user_error([&] { place_point(threads, cluster, 4, 0, false); }, {"--backend mpi"});
  Cluster small = cluster;
  small.kinds[0].memory = 1000;
  const SimulatedPoint point = place_point(fixed.config, cluster, 2, 0, false);
  expect_user_error([&] { expect_to_fit(point, memory_of(point, fixed.data), small); },
                    {"GB more than a node"});
  Profile without = fixed.profile;
  without.networks.clear();
  expect_user_error([&] { costs_for(point, fixed.data, without, Measuring::never); },
                    {"lockstep calibrate"});
}

TEST(Simulation, SaysWhetherAnEpochOrAStepHasTooFewSamples) {
  FixedProfile fixed;  // 120 samples
  const Cluster cluster = test_cluster(200);
  expect_user_error(
      [&] { memory_of(place_point(fixed.config, cluster, 121, 121, false), fixed.data); },
      {"121 ranks are more than the 120 samples of an epoch", "--samples"});
  fixed.config.parallel.batch = BatchOf::all;
  expect_user_error([&] { memory_of(place_point(fixed.config, cluster, 9, 9, false), fixed.data); },
                    {"9 ranks are more than the 8 samples of a step", "train.batch"});
}

TEST(Simgrid, RanksConform) {
  Profile profile;
  profile.cores = 2;
  profile.mpi = fixed_tables();
  const Cluster cluster = test_cluster(4, 4);
  for (const int ranks : {2, 3, 7})
    for (const int per_node : {1, 4}) {
      if (ranks > cluster.nodes() * per_node) continue;
      const SimulatedJob job{.cluster = cluster,
                             .profile = profile,
                             .nodes = cluster.place(ranks, per_node),
                             .moves_data = true};
      run_apart([&] {
        run_on_simgrid(job, [](SimulatedRank& rank) { check_conformance(rank.ranks); });
        return std::string();
      });
    }
}

}  // namespace
}  // namespace lockstep
