#include "cluster/network_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockstep {
namespace {

Cluster cluster_of(const std::string& nodes, const std::string& network) {
  return parse_cluster(nodes + "[network]\nefficiency = 0.5\n" + network, "c.toml");
}

int64_t times(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(NetworkPlan, AStarHasOneLinkPerHostShapedAtBothEnds) {
  const Cluster star =
      cluster_of("[node]\ncount = 3\ncores = 1\nmemory_gb = 1\n", "bandwidth_gbit = 0.2\n");
  const NetworkPlan plan = plan_network(star, {101, 102, 103});
  EXPECT_EQ(times(plan.switches.ip, "type bridge"), 1);
  for (const char* host : {"netns 101", "netns 102", "netns 103"})
    EXPECT_EQ(times(plan.switches.ip, host), 1);
  EXPECT_EQ(times(plan.switches.tc, "tbf rate"), 3);
  ASSERT_EQ(plan.hosts.size(), 3u);
  // 100 Mbit/s of payload take 100 x 1514 / 1448 on the wire.
  for (const LinkCommands& host : plan.hosts)
    EXPECT_EQ(times(host.tc, "rate 104558011bit"), 1) << host.tc;
  EXPECT_EQ(times(plan.hosts[1].ip, "10.79.0.2/16"), 1);
}

TEST(NetworkPlan, ATreeHasASwitchAndAnUplinkPerLeaf) {
  const Cluster tree = cluster_of("[node]\ncount = 5\ncores = 1\nmemory_gb = 1\n",
                                  "topology = \"tree\"\nleaf = 2\nbandwidth_gbit = 0.2\n"
                                  "uplink_gbit = 0.1\n");
  const NetworkPlan plan = plan_network(tree, {1, 2, 3, 4, 5});
  EXPECT_EQ(times(plan.switches.ip, "type bridge"), 4);
  EXPECT_EQ(times(plan.switches.tc, "rate 52279006bit"), 6);  // both ends of three uplinks
  EXPECT_EQ(times(plan.switches.ip, "link set port4 master leaf2 up"), 1);
}

TEST(NetworkPlan, NodesMayHaveLinksOfTheirOwn) {
  const Cluster star = cluster_of(
      "[[node]]\ncount = 1\ncores = 1\nmemory_gb = 1\n[[node]]\ncount = 1\ncores = 1\nmemory_gb = "
      "1\nbandwidth_gbit = 0.4\nupload_gbit = 0.02\n",
      "bandwidth_gbit = 0.2\n");
  EXPECT_DOUBLE_EQ(star.download_of(0), star.upload_of(0));
  EXPECT_DOUBLE_EQ(star.download_of(1), 0.4e9 / 8 * 0.5);
  EXPECT_DOUBLE_EQ(star.upload_of(1), 0.02e9 / 8 * 0.5);
  const NetworkPlan plan = plan_network(star, {1, 2});
  EXPECT_EQ(times(plan.switches.tc, "dev port1 root tbf rate 209116022bit"), 1);
  EXPECT_EQ(times(plan.hosts[1].tc, "rate 10455801bit"), 1);
}

// An idle link would otherwise send 64 KB at once.
TEST(NetworkPlan, SlowLinksForwardSmallPackets) {
  const Cluster slow =
      cluster_of("[node]\ncount = 2\ncores = 1\nmemory_gb = 1\n", "bandwidth_gbit = 0.01\n");
  EXPECT_EQ(times(plan_network(slow, {1, 2}).hosts[0].ip, "gso_max_size 3000"), 1);
}

TEST(NetworkPlan, AddressesOfHostsAreDifferent) {
  std::vector<std::string> all;
  for (int host = 0; host < 600; ++host) all.push_back(address_of_host(host));
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

}  // namespace
}  // namespace lockstep
