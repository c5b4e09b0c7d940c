#include "sim/point/simulation.h"

#include <nlohmann/json.hpp>

#include "comm/conformance.h"
#include "data/datasets/subset.h"
#include "os/apart.h"
#include "sim/engine/analytic/analytic.h"
#include "sim/engine/engine.h"
#include "sim/numerics.h"
#include "sim/sim_testing.h"
#include "train/record/run_folder.h"

namespace lockstep {
namespace {

Prediction predict(const FixedProfile& fixed, const RunConfig& config, const Cluster& cluster,
                   int64_t ranks, int64_t nodes, Engine engine = Engine::simgrid) {
  const SimulatedPoint point = place_point(config, cluster, ranks, nodes, false);
  return simulate_point(point, fixed.data, fixed.profile, cluster,
                        {.engine = engine, .loading = false});
}

RunConfig with_strategy(RunConfig config, const std::string& strategy) {
  config.parallel.strategy = strategy;
  if (strategy == "scatter-gather") config.parallel.parts = Parts::contiguous;
  return config;
}

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
      {"all-reduce", "mpi", 2, 2, 6.815696e-3},
      {"all-reduce", "mpi", 2, 1, 12.70286489e-3},
      {"all-reduce", "threads", 2, 1, 12.70308e-3},
      {"reduce-broadcast", "mpi", 4, 4, 6.972386e-3},
      {"parameter-server", "mpi", 3, 3, 6.859584e-3},
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

using Collective = Request (*)(Communicator&, std::span<float>);

// Seconds until the last simulated rank has finished.
template <typename Engine>
double seconds_of(Collective collective, size_t floats, const Engine& run) {
  std::vector<float> data(floats);
  double first = 0, last = 0;
  run([&](SimulatedRank& rank) {
    first = std::max(first, rank.clock.seconds());  // after all have met
    collective(rank.ranks, data).wait();
    rank.clock.catch_up();
    last = std::max(last, rank.clock.seconds());
  });
  return last - first;
}

double on_simgrid(const SimulatedJob& job, Collective collective, size_t floats) {
  return std::stod(run_apart([&] {
    const auto run = [&](const SimulatedMain& main) { run_on_simgrid(job, main); };
    return fmt::format("{}", seconds_of(collective, floats, run));
  }));
}

double by_closed_form(const SimulatedJob& job, Collective collective, size_t floats) {
  return seconds_of(collective, floats,
                    [&](const SimulatedMain& main) { run_analytically(job, {}, main); });
}

TEST(Analytic, CollectivesAgreeWithSimgrid) {
  Profile profile;
  profile.cores = 2;
  profile.mpi = fixed_tables();
  const Cluster tree = parse_cluster(
      "[node]\ncount = 16\ncores = 16\nmemory_gb = 4\n[network]\ntopology = "
      "\"tree\"\nbandwidth_gbit "
      "= 10\nlatency_us = 20\nleaf = 4\nuplink_gbit = 20\nuplink_latency_us = 5\n",
      "tree.toml");
  const Cluster star = test_cluster(256, 16);
  struct Tested {
    const char* name;
    Collective collective;
    size_t few;  // floats; enough that start times of ranks do not matter
    double tolerance;
  };
  const Tested all[] = {
      {"all-reduce", [](Communicator& r, std::span<float> d) { return r.all_reduce(d, d); }, 1000,
       0.1},
      {"reduce", [](Communicator& r, std::span<float> d) { return r.reduce(d, d, 0); }, 30'000,
       0.25},
      {"broadcast",
       [](Communicator& r, std::span<float> d) {
         return r.broadcast(std::as_writable_bytes(d), 0);
       },
       30'000, 0.2}};
  for (const Tested& tested : all)
    for (const Cluster* cluster : {&star, &tree})
      for (const int per_node : {1, 16})
        for (const int ranks : {2, 3, 6, 8, 16, 64, 256}) {
          if (ranks > cluster->nodes() * per_node) continue;
          for (const size_t floats : {tested.few, size_t{700'000}}) {
            const SimulatedJob job{
                .cluster = *cluster, .profile = profile, .nodes = cluster->place(ranks, per_node)};
            const double simgrid = on_simgrid(job, tested.collective, floats);
            EXPECT_NEAR(by_closed_form(job, tested.collective, floats) / simgrid, 1,
                        tested.tolerance)
                << tested.name << ", " << to_text(cluster->topology) << ", " << ranks << " ranks, "
                << per_node << " per node, " << floats << " floats: " << simgrid << " s";
          }
        }
}

// A network of 1.5 MB and enough rows for `ranks` ranks, by repeating those of the data set.
FixedProfile for_many_ranks(size_t ranks) {
  FixedProfile fixed;
  fixed.config.model.layers = {"dense 600 relu", "dense 600 relu", "dense 3"};
  fixed.config.parallel.backend = Backend::mpi;
  fixed.add(fixed.config);
  std::vector<int64_t> rows(8 * ranks);
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<int64_t>(i) % fixed.data.train->size();
  fixed.data.train =
      std::make_unique<Subset>(std::shared_ptr<Dataset>(std::move(fixed.data.train)), rows);
  return fixed;
}

// The buffers of a root for gradients of this many ranks are larger than this machine's memory.
TEST(Analytic, ReachesAHundredThousandRanks) {
  const FixedProfile fixed = for_many_ranks(100'000);
  for (const char* strategy :
       {"all-reduce", "reduce-broadcast", "parameter-server", "scatter-gather"}) {
    const auto step = [&](int64_t ranks) {
      return predict(fixed, with_strategy(fixed.config, strategy), test_cluster(50'000), ranks, 0,
                     Engine::analytic)
          .step_seconds;
    };
    EXPECT_GT(step(100'000), step(64)) << strategy;
  }
}

TEST(Analytic, StepsAgreeWithSimgridOnAllShippedClusters) {
  const FixedProfile fixed = for_many_ranks(256);
  int compared = 0;
  for (const auto& file : fs::directory_iterator(LOCKSTEP_TESTS_FOLDER "/../clusters")) {
    const Cluster cluster = parse_cluster(read_text(file.path()), file.path().filename().string());
    for (const char* strategy :
         {"all-reduce", "reduce-broadcast", "parameter-server", "scatter-gather"})
      for (const int64_t ranks : {2, 4, 16, 64, 256}) {
        if (ranks > int64_t{cluster.nodes()} * cluster.kinds.front().cores) continue;
        const RunConfig config = with_strategy(fixed.config, strategy);
        const auto step = [&](Engine engine) {
          return predict(fixed, config, cluster, ranks, 0, engine).step_seconds;
        };
        EXPECT_NEAR(step(Engine::analytic) / step(Engine::simgrid), 1, 0.1)
            << strategy << ", " << ranks << " ranks on " << file.path().filename();
        ++compared;
      }
  }
  EXPECT_GT(compared, 150);
}

// Parts of a large array take longer than whole arrays of the size of a part.
TEST(Simgrid, TwoRanksOfANodeTakeTheMeasuredTime) {
  Profile profile;
  profile.cores = 2;
  profile.mpi = fixed_tables();
  profile.mpi["all-reduce"].add(64 << 20, 5 * profile.mpi["all-reduce"].at(32 << 20));
  profile.mpi["reduce"] = profile.mpi["all-reduce"];
  const Cluster cluster = test_cluster();
  const SimulatedJob job{.cluster = cluster, .profile = profile, .nodes = cluster.place(2, 2)};
  const Collective all_reduce = [](Communicator& r, std::span<float> d) {
    return r.all_reduce(d, d);
  };
  const Collective reduce = [](Communicator& r, std::span<float> d) { return r.reduce(d, d, 0); };
  for (const size_t floats : {size_t{1} << 20, size_t{1} << 24}) {
    const auto bytes = static_cast<double>(floats * sizeof(float));
    const auto measured = [&](const char* name) { return profile.mpi[name].at(bytes); };
    EXPECT_NEAR(on_simgrid(job, all_reduce, floats) / measured("all-reduce"), 1, 0.01);
    EXPECT_NEAR(by_closed_form(job, all_reduce, floats) / measured("all-reduce"), 1, 0.01);
    EXPECT_NEAR(on_simgrid(job, reduce, floats) / measured("reduce"), 1, 0.01);
    EXPECT_NEAR(by_closed_form(job, reduce, floats) / measured("reduce"), 1, 0.01);
  }
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

TEST(Numerics, VirtualRanksLearnTheSameForAnyNumberOfRanks) {
  FixedProfile fixed;
  const ScratchFolder folder(fs::temp_directory_path());
  Observer nobody;
  const std::atomic<bool> stop{false};
  const Cluster cluster = test_cluster();
  for (const char* backend : {"mpi", "threads"}) {
    std::vector<double> losses;
    for (const int64_t ranks : {1, 2, 4}) {
      RunConfig config = fixed.config;
      config.parallel.batch = BatchOf::all;
      config.parallel.backend = *from_text<Backend>(backend);
      config.train.batch = 8;
      fixed.add(config, 8 / ranks);
      const int64_t nodes = std::string(backend) == "mpi" ? ranks : 1;
      const SimulatedPoint point = place_point(config, test_cluster(8, 8), ranks, nodes, false);
      const fs::path run = folder.path() / fmt::format("{}{}", backend, ranks);
      const auto json = nlohmann::json::parse(simulate_numerics(
          point, fixed.data, fixed.profile, test_cluster(8, 8), {}, run, nobody, stop));
      EXPECT_TRUE(json.at("simulated").get<bool>());
      EXPECT_GT(json.at("total_seconds").get<double>(), 0);
      losses.push_back(json.at("test_loss").get<double>());
      EXPECT_TRUE(fs::exists(run / "model" / "model.safetensors"));
    }
    EXPECT_NEAR(losses[1], losses[0], 1e-5);
    EXPECT_NEAR(losses[2], losses[0], 1e-5);
  }
}

TEST(Simulation, ClosedFormsRefuseAsynchronousServers) {
  FixedProfile fixed;
  RunConfig config = with_strategy(fixed.config, "parameter-server");
  config.parallel.asynchronous = true;
  const Cluster cluster = test_cluster();
  expect_user_error(
      [&] {
        simulate_point(place_point(config, cluster, 4, 4, false), fixed.data, fixed.profile,
                       cluster, {.engine = Engine::analytic});
      },
      {"asynchronous servers", "--engine simgrid"});
}

TEST(Numerics, AsynchronousServersFollowVirtualTimeReproducibly) {
  FixedProfile fixed;
  const ScratchFolder folder(fs::temp_directory_path());
  Observer nobody;
  const std::atomic<bool> stop{false};
  RunConfig config = with_strategy(fixed.config, "parameter-server");
  config.parallel.asynchronous = true;
  config.parallel.staleness = 3;
  Cluster cluster = test_cluster();
  disturb(cluster, "noise=0.2");
  const auto run = [&](const char* name) {
    return simulate_numerics(place_point(config, cluster, 4, 4, false), fixed.data, fixed.profile,
                             cluster, {}, folder.path() / name, nobody, stop);
  };
  const auto first = nlohmann::json::parse(run("a")), second = nlohmann::json::parse(run("b"));
  EXPECT_GT(first.at("parallel").at("staleness_mean").get<double>(), 0);
  EXPECT_EQ(first.at("test_loss"), second.at("test_loss"));  // the same order each time
  EXPECT_EQ(first.at("total_seconds"), second.at("total_seconds"));
}

TEST(Numerics, FoldsAreDividedAmongRanksInVirtualTime) {
  FixedProfile fixed;
  fixed.config.crossval.folds = 4;
  const ScratchFolder folder(fs::temp_directory_path());
  const std::atomic<bool> stop{false};
  std::vector<double> seconds, accuracies;
  for (const int64_t ranks : {1, 2, 4}) {
    const SimulatedPoint point = place_point(fixed.config, test_cluster(), ranks, ranks, false);
    const auto json =
        nlohmann::json::parse(simulate_crossval(point, fixed.data, fixed.profile, test_cluster(),
                                                {}, folder.path() / std::to_string(ranks), stop));
    seconds.push_back(json.at("total_seconds").get<double>());
    accuracies.push_back(json.at("test_accuracy").get<double>());
  }
  EXPECT_NEAR(seconds[0] / seconds[1], 2, 0.1);
  EXPECT_NEAR(seconds[0] / seconds[2], 4, 0.2);
  EXPECT_EQ(accuracies[0], accuracies[1]);
  EXPECT_EQ(accuracies[0], accuracies[2]);
}

}  // namespace
}  // namespace lockstep
