#include "cluster/cluster.h"

#include <chrono>

#include "sim/sim_testing.h"

namespace lockstep {
namespace {

std::string text(const std::string& node, const std::string& network) {
  return "[node]\n" + node + "\n[network]\n" + network + "\n";
}
constexpr const char* good_node = "count = 4\ncores = 2\nmemory_gb = 8";
constexpr const char* good_network = "bandwidth_gbit = 10\nlatency_us = 20";

TEST(Clusters, AreReadWithTheirUnits) {
  const Cluster c = parse_cluster(text(good_node, good_network), "c.toml");
  EXPECT_EQ(c.nodes(), 4);
  EXPECT_EQ(c.slots(), 8);
  EXPECT_DOUBLE_EQ(c.link.bandwidth, 10e9 / 8 * 0.94);
  EXPECT_DOUBLE_EQ(c.link.latency, 20e-6);
  EXPECT_EQ(c.place(6, 2), (std::vector<int>{0, 0, 1, 1, 2, 2}));
}

TEST(Clusters, MayMixNodesAndHaveStragglers) {
  Cluster c = parse_cluster(
      "[[node]]\ncount = 2\ncores = 4\nspeed = 2.0\nmemory_gb = 8\n[[node]]\ncount = 1\ncores = "
      "2\nspeed = 0.5\nmemory_gb = 2\n[network]\nbandwidth_gbit = 1\n",
      "c.toml");
  EXPECT_EQ(c.nodes(), 3);
  EXPECT_DOUBLE_EQ(c.speed_of(1), 2);
  EXPECT_DOUBLE_EQ(c.speed_of(2), 0.5);
  disturb(c, "stragglers=2");
  disturb(c, "straggler_speed=0.25");
  EXPECT_DOUBLE_EQ(c.speed_of(0), 2);
  EXPECT_DOUBLE_EQ(c.speed_of(1), 0.5);
}

// Products of sizes that are each in range, and numbers too large for an integer.
TEST(Clusters, RefuseSizesThatOverflow) {
  const auto refused = [](const std::string& node, const std::string& network,
                          const std::vector<std::string>& expected) {
    expect_user_error([&] { parse_cluster(text(node, network), "c.toml"); }, expected);
  };
  refused("count = 10000000\ncores = 2\nmemory_gb = 8", good_network,
          {"c.toml line 2", "node.count", "1 to 1000000"});
  refused("count = 1000000\ncores = 4096\nmemory_gb = 8", good_network,
          {"1000000 nodes with 4096000000 cores", "at most 1000000 nodes and 100000000 cores"});
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "[[node]]\ncount = 1000000\nmemory_gb = 8\n";
  expect_user_error([&] { parse_cluster(many, "c.toml"); }, {"3000 different [[node]]"});
  expect_user_error([&] { parse_cluster(many.substr(0, many.size() / 300), "c.toml"); },
                    {"10000000 nodes"});
  const auto torus = [&](const std::string& shape, const std::string& expected) {
    refused(good_node, "bandwidth_gbit = 1\ntopology = \"torus\"\nshape = " + shape, {expected});
  };
  torus("[99999999999999999999]", "c.toml line");  // too large for a TOML integer
  torus("[4294967297, 4]", "from 1 to 1000000");
  torus("[2.5, 2]", "whole numbers");
  torus("[]", "whole numbers");
  torus("[1, 1, 1, 1, 1, 1, 1, 1, 4]", "1 to 8 whole numbers");
  torus("[1000000, 1000000, 1000000, 1000000]", "there are 4 nodes");
  expect_user_error(
      [&] {
        parse_cluster(text(good_node, good_network) + "[disturbance]\nstragglers = 5\n", "c.toml");
      },
      {"c.toml", "stragglers=5", "4 nodes"});
}

TEST(Clusters, TakeSeveralDisturbancesSeparatedByCommas) {
  Cluster c = test_cluster();
  disturb(c, "noise=0.1,stragglers=2,straggler_speed=0.25");
  EXPECT_DOUBLE_EQ(c.disturbance.noise, 0.1);
  EXPECT_EQ(c.disturbance.stragglers, 2);
  EXPECT_DOUBLE_EQ(c.disturbance.straggler_speed, 0.25);
  expect_user_error([&] { disturb(c, "noise=0.1,nois=1"); }, {"did you mean 'noise'"});
}

TEST(Clusters, MayHaveNodesOfSeveralSockets) {
  const Cluster c = parse_cluster(
      text("count = 4\ncores = 8\nsockets = 2\nmemory_gb = 8", good_network), "c.toml");
  EXPECT_EQ(c.kinds[0].sockets, 2);
}

struct Mistake {
  const char *node, *network, *expected;
};

// Predictions that a sweep has kept count only for the same cluster.
TEST(Clusters, HaveAnIdentityThatEveryValueChanges) {
  const Cluster base = test_cluster();
  EXPECT_EQ(identity(base), identity(test_cluster()));
  const std::vector<void (*)(Cluster&)> changes = {
      [](Cluster& c) { c.name = "other"; },
      [](Cluster& c) { c.topology = Topology::torus; },
      [](Cluster& c) { c.link.bandwidth *= 2; },
      [](Cluster& c) { c.link.latency *= 2; },
      [](Cluster& c) { c.uplink.bandwidth = 1; },
      [](Cluster& c) { c.uplink.latency = 1; },
      [](Cluster& c) { c.leaf = 7; },
      [](Cluster& c) { c.spines = 7; },
      [](Cluster& c) {
        c.shape = {2, 3};
      },
      [](Cluster& c) { c.message_cpu = 1; },
      [](Cluster& c) { c.kinds[0].count += 1; },
      [](Cluster& c) { c.kinds[0].cores += 1; },
      [](Cluster& c) { c.kinds[0].speed *= 2; },
      [](Cluster& c) { c.kinds[0].memory *= 2; },
      [](Cluster& c) { c.kinds[0].sockets += 1; },
      [](Cluster& c) { c.kinds.push_back(c.kinds[0]); },
      [](Cluster& c) { c.disturbance.noise = 0.1; },
      [](Cluster& c) { c.disturbance.stragglers = 1; },
      [](Cluster& c) { c.disturbance.straggler_speed = 0.1; },
      [](Cluster& c) { c.disturbance.fails_at = 1; },
      [](Cluster& c) { c.disturbance.restart = 1; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Cluster changed = base;
    changes[i](changed);
    EXPECT_NE(identity(changed), identity(base)) << "change " << i;
  }
}

TEST(Clusters, SayWhatIsWrongAndWhere) {
  const Mistake mistakes[] = {
      {"count = 0\ncores = 2\nmemory_gb = 8", good_network, "node.count = 0 is not possible"},
      {"count = 4\ncores = -2\nmemory_gb = 8", good_network, "c.toml line 3"},
      {"count = 4\ncores = 2", good_network, "node.memory_gb is missing"},
      {"count = 4\ncores = 2\nmemory_gb = 8\nspeed = 1e9", good_network, "not possible"},
      {"count = 4\ncores = 2.5\nmemory_gb = 8", good_network, "whole number"},
      {"count = 4\ncores = \"two\"\nmemory_gb = 8", good_network, "whole number"},
      {"count = 4\ncores = 2\nmemory_gb = 8\ncoers = 3", good_network, "did you mean"},
      {"count = 4\ncores = 8\nmemory_gb = 8\nsockets = 3", good_network, "does not divide"},
      {good_node, "latency_us = 20", "network.bandwidth_gbit is missing"},
      {good_node, "bandwidth_gbit = 0", "not possible"},
      {good_node, "bandwidth_gbit = -1", "not possible"},
      {good_node, "bandwidth_gbit = 1\nlatency_us = -5", "not possible"},
      {good_node, "bandwidth_gbit = 1\ntopology = \"stra\"", "did you mean 'star'"},
      {good_node, "bandwidth_gbit = 1\ntopology = \"tree\"", "needs network.leaf"},
      {good_node, "bandwidth_gbit = 1\ntopology = \"tree\"\nleaf = 2", "needs network.uplink_gbit"},
      {good_node, "bandwidth_gbit = 1\ntopology = \"torus\"", "needs network.shape"},
      {good_node, "bandwidth_gbit = 1\ntopology = \"torus\"\nshape = [3, 3]", "9 places"},
      {good_node, "bandwidth_gbit = 1\nefficiency = 1.5", "not possible"},
  };
  for (const Mistake& m : mistakes)
    expect_user_error([&] { parse_cluster(text(m.node, m.network), "c.toml"); }, {m.expected});
  expect_user_error([] { parse_cluster("name = \"empty\"", "c.toml"); }, {"there is no [node]"});
  Cluster c = test_cluster();
  expect_user_error([&] { disturb(c, "nois=1"); }, {"did you mean 'noise'"});
  expect_user_error([&] { disturb(c, "stragglers=99"); }, {"8 nodes"});
}

// Only the nodes in use are simulated, so predictions for a few ranks of a huge cluster are fast.
TEST(Clusters, OfAMillionNodesArePredictedLikeSmallOnes) {
  const FixedProfile fixed;
  const auto predicted = [&](int nodes, const std::string& network, Engine engine) {
    const Cluster c = parse_cluster(text(fmt::format("count = {}\ncores = 2\nmemory_gb = 4", nodes),
                                         "bandwidth_gbit = 1\nlatency_us = 50\n" + network),
                                    "c.toml");
    const SimulatedPoint point = place_point(fixed.config, c, 8, 0, false);
    return simulate_point(point, fixed.data, fixed.profile, c, {.engine = engine, .loading = false})
        .step_seconds;
  };
  const auto start = std::chrono::steady_clock::now();
  for (const char* network :
       {"topology = \"star\"", "topology = \"tree\"\nleaf = 2\nuplink_gbit = 1",
        "topology = \"fat-tree\"\nleaf = 2\nspines = 2"})
    for (const Engine engine : {Engine::simgrid, Engine::analytic})
      EXPECT_EQ(predicted(1'000'000, network, engine), predicted(4, network, engine)) << network;
  const std::string torus = "topology = \"torus\"\nshape = [100, 100, 100]";
  EXPECT_GT(predicted(1'000'000, torus, Engine::analytic), 0);
  expect_user_error([&] { predicted(1'000'000, torus, Engine::simgrid); },
                    {"3000000 links", "--engine analytic"});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(Profiles, RoundTripAndRefuseOtherFiles) {
  FixedProfile fixed;
  fixed.profile.arithmetic = 2e-6;
  fixed.profile.mpi_quietness = {"steal", 1.5};
  fixed.profile.networks.begin()->second.quietness = {"a neighbour", 3};
  fixed.profile.networks.begin()->second.by_ranks.at(2).typical = 1.25;
  const ScratchFolder folder(fs::temp_directory_path());
  const fs::path path = folder.path() / "p.json";
  write_profile(path, fixed.profile);
  const Profile read = read_profile(path);
  EXPECT_EQ(read.machine, fixed.profile.machine);
  ASSERT_EQ(read.networks.size(), 1u);
  EXPECT_DOUBLE_EQ(read.networks.begin()->second.by_ranks.at(2).step(),
                   fixed.profile.networks.begin()->second.by_ranks.at(2).step());
  EXPECT_DOUBLE_EQ(read.networks.begin()->second.by_ranks.at(2).typical, 1.25);
  EXPECT_EQ(read.networks.begin()->second.quietness.why, "a neighbour");
  EXPECT_DOUBLE_EQ(read.networks.begin()->second.quietness.slowdown, 3);
  EXPECT_EQ(read.mpi_quietness.why, "steal");
  EXPECT_TRUE(read.threads_quietness.quiet());
  EXPECT_DOUBLE_EQ(read.arithmetic, 2e-6);
  EXPECT_DOUBLE_EQ(read.mpi.at("exchange").at(1000), fixed.profile.mpi.at("exchange").at(1000));

  const auto refused = [&](const std::string& content, const std::string& expected) {
    write_file(path, content);
    expect_user_error([&] { read_profile(path); }, {expected});
  };
  const std::string good = read_text(path);
  refused("hello", "is not a profile");
  refused("{\"lockstep_profile\": 99}", "version 99");
  refused("{\"lockstep_profile\": 6}", "version 6");  // does not record disturbances
  refused("{\"lockstep_profile\": 10, \"machine\": \"x\"}", "damaged");
  refused(good.substr(0, good.size() / 2), "is not a profile");
}

TEST(Profiles, KeepTheFasterTables) {
  const auto tables = [](double barrier) {
    std::map<std::string, SizeTable> made;
    made["barrier"].add(64, barrier);
    return made;
  };
  std::map<std::string, SizeTable> known;
  for (const auto& [measured, kept] : {std::pair(5.0, 5.0), {4.0, 4.0}, {6.0, 4.0}}) {
    keep_quicker_tables(known, tables(measured));
    EXPECT_EQ(known.at("barrier").at(64), kept) << measured;
  }
}

TEST(Costs, AreInterpolatedBetweenMeasurements) {
  SizeTable table;
  table.add(100, 1);
  table.add(200, 2);
  EXPECT_DOUBLE_EQ(table.at(50), 1);
  EXPECT_DOUBLE_EQ(table.at(150), 1.5);
  EXPECT_DOUBLE_EQ(table.at(400), 4);
  NetworkCosts costs;
  costs.by_ranks[1].micro_batch = 1;
  costs.by_ranks[2].micro_batch = 2;
  // A node that is as full as the measured machine slows down as much.
  EXPECT_DOUBLE_EQ(cost_on_node(costs, 2, 1, 16).micro_batch, 1);
  EXPECT_DOUBLE_EQ(cost_on_node(costs, 2, 16, 16).micro_batch, 2);
  EXPECT_NEAR(cost_on_node(costs, 2, 8, 15).micro_batch, 1.5, 1e-12);
}

}  // namespace
}  // namespace lockstep
