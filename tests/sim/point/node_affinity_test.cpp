#include "sim/point/node_affinity.h"

#include "sim/sim_testing.h"

namespace lockstep {
namespace {

const NodeKind four_cores{.cores = 4};
const NodeKind two_sockets{.cores = 8, .sockets = 2};

TEST(NodeAffinity, RanksOnTheSameCoreShareIt) {
  const NodePlaces places = places_on_node("0,0,1", four_cores, 3, 3, 1);
  EXPECT_EQ(places.sharing, (std::vector<double>{2, 2, 1}));
  EXPECT_EQ(places.slowest(), 0);
  EXPECT_EQ(places_on_node("0,1", four_cores, 2, 2, 1).most_sharing(), 1);
  EXPECT_EQ(places_on_node("0,1", four_cores, 1, 1, 4).most_sharing(), 2);  // threads of a rank
}

TEST(NodeAffinity, AServerLeavesItsCoreToTheRankThatTrains) {
  EXPECT_EQ(places_on_node("0", four_cores, 2, 1, 1).most_sharing(), 1);
}

TEST(NodeAffinity, CompactFillsOneSocketAndScatterSpreads) {
  EXPECT_EQ(places_on_node("compact", two_sockets, 4, 4, 1).on_socket,
            (std::vector<int>{4, 4, 4, 4}));
  EXPECT_EQ(places_on_node("scatter", two_sockets, 4, 4, 1).on_socket,
            (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(places_on_node("none", two_sockets, 4, 4, 1).on_socket, (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(places_on_node("0,1,4", two_sockets, 3, 3, 1).on_socket, (std::vector<int>{2, 2, 1}));
}

TEST(NodeAffinity, RefusesCoresThatANodeDoesNotHave) {
  expect_user_error([] { places_on_node("0,4", four_cores, 2, 2, 1); },
                    {"core 4 does not exist", "0 to 3"});
  expect_user_error([] { places_on_node("compakt", four_cores, 2, 2, 1); }, {"compakt"});
}

TEST(NodeAffinity, MattersIfCoresAreListedOrNodesHaveSeveralSockets) {
  Cluster cluster = test_cluster(2, 4);
  EXPECT_TRUE(affinity_matters("0,0", cluster));
  EXPECT_TRUE(affinity_matters("none", cluster));
  EXPECT_FALSE(affinity_matters("compact", cluster));
  cluster.kinds[0].sockets = 2;
  EXPECT_TRUE(affinity_matters("compact", cluster));
}

double step_with(const FixedProfile& fixed, const Cluster& cluster, const std::string& affinity,
                 Engine engine, int64_t ranks = 2) {
  RunConfig config = fixed.config;
  config.parallel.affinity = affinity;
  return simulate_point(place_point(config, cluster, ranks, 1, false), fixed.data, fixed.profile,
                        cluster, {.engine = engine, .loading = false})
      .step_seconds;
}

TEST(NodeAffinity, ASharedCoreDoublesTheStep) {
  const FixedProfile fixed;
  const Cluster cluster = test_cluster(1, 2);
  for (const Engine engine : {Engine::simgrid, Engine::analytic}) {
    const double apart = step_with(fixed, cluster, "0,1", engine);
    EXPECT_DOUBLE_EQ(apart, step_with(fixed, cluster, "none", engine));
    EXPECT_NEAR(step_with(fixed, cluster, "0,0", engine) / apart, 2, 0.02);
    EXPECT_NEAR(step_with(fixed, cluster, "1", engine) / apart, 2, 0.02);
  }
}

// In this profile kernels take twice as long on a full socket.
TEST(NodeAffinity, AnotherSocketIsLessCrowded) {
  const FixedProfile fixed;
  Cluster cluster = test_cluster(1, 4);
  cluster.kinds[0].sockets = 2;
  for (const Engine engine : {Engine::simgrid, Engine::analytic})
    EXPECT_NEAR(
        step_with(fixed, cluster, "compact", engine) / step_with(fixed, cluster, "scatter", engine),
        12.7 / 6.7, 0.02);
}

}  // namespace
}  // namespace lockstep
