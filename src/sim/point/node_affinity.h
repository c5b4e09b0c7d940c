#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace lockstep {

// Where parallel.affinity puts the ranks of one node.
struct NodePlaces {
  std::vector<std::vector<int>> cores;  // of each rank; empty: not bound
  // Per rank: number of threads of training ranks on its busiest core. Ranks that are not bound
  // find a free core while there is one.
  std::vector<double> sharing;
  std::vector<int> on_socket;  // per rank: number of training ranks on its socket

  double most_sharing() const;
  int slowest() const;  // rank with the largest sharing; of these, with the fullest socket
};

// The first `training` of `ranks` ranks train; the others are servers, which mostly wait. Throws a
// UserError if `affinity` names a core that the node does not have.
NodePlaces places_on_node(const std::string& affinity, const NodeKind& node, int ranks,
                          int training, int threads);

// Whether the simulated time depends on the affinity: listed cores may be shared, sockets may be
// crowded. Ranks that are not bound are simulated as if they never moved.
bool affinity_matters(const std::string& affinity, const Cluster& cluster);

}  // namespace lockstep
