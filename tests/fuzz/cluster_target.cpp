#include "cluster/cluster.h"

#include "fuzz_target.h"
#include "sim/point/simulation.h"

namespace lockstep {
namespace {

// The file, and the value of --disturb.
void read(const std::string& input) {
  const std::vector<std::string> files = files_of(input, 2);
  Cluster cluster = parse_cluster(files[0], "input");
  if (!files[1].empty()) disturb(cluster, files[1]);
  expect(cluster.nodes() > 0 && cluster.nodes() <= most_nodes, "the number of nodes is in range");
  expect(cluster.slots() > 0 && cluster.slots() <= most_cores, "the number of cores is in range");
  for (const int node : {0, cluster.nodes() / 2, cluster.nodes() - 1})
    expect(cluster.speed_of(node) > 0, "the speed of a node is positive");
  const SimulatedPoint point = place_point({}, cluster, cluster.nodes(), 0, false);
  expect(point.nodes <= cluster.nodes(), "ranks are placed on existing nodes");
  cluster.place(cluster.nodes(), point.per_node);
}

std::vector<std::string> seeds() {
  std::vector<std::string> all = repository_files("clusters");
  all.push_back(joined({all.front(), "noise=0.1"}));
  all.push_back(
      "[[node]]\ncount = 2\ncores = 4\nspeed = 2.0\nmemory_gb = 8\n[[node]]\ncount = 1\n"
      "memory_gb = 2\n[network]\nbandwidth_gbit = 1\n[disturbance]\nstragglers = 1\n");
  return all;
}

}  // namespace

FuzzTarget cluster_target() { return {"cluster", read, seeds}; }

}  // namespace lockstep
