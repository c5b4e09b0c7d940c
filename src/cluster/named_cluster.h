#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace lockstep {

// A cluster that comes with the program: clusters/<name>.toml, compiled in.
struct ShippedCluster {
  std::string name;
  std::string text;
};
const std::vector<ShippedCluster>& shipped_clusters();

struct NamedCluster {
  Cluster cluster;
  std::string text;  // its file
};
// Finds a cluster by the name of a shipped or an emulated one, or by path.
NamedCluster named_cluster(const std::string& name_or_path);

}  // namespace lockstep
