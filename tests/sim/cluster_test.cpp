#include "sim/cluster.h"

#include "sim_testing.h"

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

struct Mistake {
  const char *node, *network, *expected;
};

TEST(Clusters, SayWhatIsWrongAndWhere) {
  const Mistake mistakes[] = {
      {"count = 0\ncores = 2\nmemory_gb = 8", good_network, "node.count = 0 is not possible"},
      {"count = 4\ncores = -2\nmemory_gb = 8", good_network, "c.toml line 3"},
      {"count = 4\ncores = 2", good_network, "node.memory_gb is missing"},
      {"count = 4\ncores = 2\nmemory_gb = 8\nspeed = 1e9", good_network, "not possible"},
      {"count = 4\ncores = 2.5\nmemory_gb = 8", good_network, "whole number"},
      {"count = 4\ncores = \"two\"\nmemory_gb = 8", good_network, "whole number"},
      {"count = 4\ncores = 2\nmemory_gb = 8\ncoers = 3", good_network, "did you mean"},
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

TEST(Profiles, RoundTripAndRefuseWhatIsNone) {
  const FixedProfile fixed;
  const ScratchFolder folder(fs::temp_directory_path());
  const fs::path path = folder.path() / "p.json";
  write_profile(path, fixed.profile);
  const Profile read = read_profile(path);
  EXPECT_EQ(read.machine, fixed.profile.machine);
  ASSERT_EQ(read.networks.size(), 1u);
  EXPECT_DOUBLE_EQ(read.networks.begin()->second.by_ranks.at(2).step(),
                   fixed.profile.networks.begin()->second.by_ranks.at(2).step());
  EXPECT_DOUBLE_EQ(read.mpi.at("exchange").at(1000), fixed.profile.mpi.at("exchange").at(1000));

  const auto refused = [&](const std::string& content, const std::string& expected) {
    write_file(path, content);
    expect_user_error([&] { read_profile(path); }, {expected});
  };
  const std::string good = read_text(path);
  refused("hello", "is not a profile");
  refused("{\"lockstep_profile\": 99}", "version 99");
  refused("{\"lockstep_profile\": 6, \"machine\": \"x\"}", "damaged");
  refused(good.substr(0, good.size() / 2), "is not a profile");
}

// Where a host ran both cores on one of its own, work took twice as long and messages were quicker.
TEST(Profiles, KeepTheQuickerTablesUnlessCoresWereShared) {
  const auto tables = [](double work, double barrier) {
    std::map<std::string, SizeTable> made;
    made["work"].add(0, work);
    made["barrier"].add(64, barrier);
    return made;
  };
  std::map<std::string, SizeTable> known;
  keep_quicker_tables(known, tables(2.0, 5));
  EXPECT_EQ(known.at("barrier").at(64), 5);
  keep_quicker_tables(known, tables(2.1, 4));
  EXPECT_EQ(known.at("barrier").at(64), 4);
  keep_quicker_tables(known, tables(4.0, 1));  // shared: not believed
  EXPECT_EQ(known.at("barrier").at(64), 4);
  keep_quicker_tables(known, tables(1.0, 6));  // what was known was shared
  EXPECT_EQ(known.at("barrier").at(64), 6);
}

TEST(Costs, GoBetweenWhatWasMeasured) {
  SizeTable table;
  table.add(100, 1);
  table.add(200, 2);
  EXPECT_DOUBLE_EQ(table.at(50), 1);
  EXPECT_DOUBLE_EQ(table.at(150), 1.5);
  EXPECT_DOUBLE_EQ(table.at(400), 4);
  NetworkCosts costs;
  costs.by_ranks[1].piece = 1;
  costs.by_ranks[2].piece = 2;
  // A node that is as full as the measured machine slows down as much.
  EXPECT_DOUBLE_EQ(cost_on_node(costs, 2, 1, 16).piece, 1);
  EXPECT_DOUBLE_EQ(cost_on_node(costs, 2, 16, 16).piece, 2);
  EXPECT_NEAR(cost_on_node(costs, 2, 8, 15).piece, 1.5, 1e-12);
}

}  // namespace
}  // namespace lockstep
