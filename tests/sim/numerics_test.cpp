#include "sim/numerics.h"

#include <nlohmann/json.hpp>

#include "sim/sim_testing.h"
#include "train/record/run_folder.h"

namespace lockstep {
namespace {

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
