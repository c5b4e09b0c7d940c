#include "sim/engine/analytic/analytic.h"

#include <bit>

#include "data/datasets/subset.h"
#include "os/apart.h"
#include "sim/predictor.h"
#include "sim/sim_testing.h"

namespace lockstep {
namespace {

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
      for (const int per_node : {1, 3, 16})
        for (const int ranks : {2, 3, 6, 8, 12, 16, 36, 64, 256}) {
          if (ranks > cluster->nodes() * per_node) continue;
          // All-reduces by node.
          if (per_node == 3 && (ranks % 3 != 0 || &tested != all)) continue;
          for (const size_t floats : {tested.few, size_t{700'000}}) {
            const SimulatedJob job{
                .cluster = *cluster, .profile = profile, .nodes = cluster->place(ranks, per_node)};
            const double simgrid = on_simgrid(job, tested.collective, floats);
            // Small all-reduces of pairs of ranks share links in ways that closed forms leave out.
            const bool in_pairs =
                &tested == all && floats == tested.few && std::popcount<unsigned>(ranks) > 1;
            EXPECT_NEAR(by_closed_form(job, tested.collective, floats) / simgrid, 1,
                        in_pairs ? 0.33 : tested.tolerance)
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

TEST(Analytic, CompressedStepsAgreeWithSimgridAndAreShorter) {
  FixedProfile fixed = for_many_ranks(16);
  for (const char* strategy :
       {"all-reduce", "reduce-broadcast", "parameter-server", "scatter-gather"})
    for (const int64_t ranks : {2, 3, 8, 16}) {
      const auto step = [&](Engine engine, Compression compression) {
        RunConfig config = with_strategy(fixed.config, strategy);
        config.parallel.compress = compression;
        return predict(fixed, config, test_cluster(16), ranks, ranks, engine).step_seconds;
      };
      const double exact = step(Engine::simgrid, Compression::none);
      for (const Compression compression : {Compression::bf16, Compression::top_k}) {
        const double simulated = step(Engine::simgrid, compression);
        const std::string what =
            fmt::format("{}, {} ranks, {}", strategy, ranks, to_text(compression));
        EXPECT_NEAR(step(Engine::analytic, compression) / simulated, 1, 0.2) << what;
        // Weights, which are not compressed, leave a server while gradients arrive.
        const bool served = std::string_view(strategy) == "parameter-server";
        EXPECT_LT(simulated, served ? 1.01 * exact : exact) << what;
      }
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

}  // namespace
}  // namespace lockstep
