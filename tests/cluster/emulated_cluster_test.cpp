#include "cluster/emulated_cluster.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace lockstep {
namespace {

Cluster star(int count) {
  Cluster cluster = parse_cluster("[node]\ncount = " + std::to_string(count) +
                                      "\ncores = 1\nmemory_gb = 1\n[network]\nbandwidth_gbit = 1\n",
                                  "c.toml");
  cluster.name = "test-star";
  return cluster;
}

std::string refusal(const Cluster& cluster) {
  try {
    bring_up(cluster, "", "");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(EmulatedClusters, OtherTopologiesSizesAndNamesAreRefused) {
  Cluster cluster = star(4);
  cluster.topology = Topology::torus;
  EXPECT_NE(refusal(cluster).find("\"star\" and \"tree\""), std::string::npos);
  EXPECT_NE(refusal(star(1)).find("2 to 64"), std::string::npos);
  EXPECT_NE(refusal(star(65)).find("2 to 64"), std::string::npos);
}

TEST(EmulatedClusters, AnUnknownOneIsNamedWithWhatMakesIt) {
  try {
    find_emulated_cluster("nowhere");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("'nowhere' is up"), std::string::npos);
  }
}

}  // namespace
}  // namespace lockstep
