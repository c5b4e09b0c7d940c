#pragma once

#include <string>
#include <vector>

#include "sim/cluster.h"

namespace lockstep {

// Where parallel.affinity puts the ranks of one node.
struct NodePlaces {
  std::vector<std::vector<int>> cores;  // of each rank; empty: it is not bound
  // Of each rank: how many threads of ranks that train its busiest core has to run. Ranks that are
  // not bound find a free core while there is one.
  std::vector<double> sharing;
  std::vector<int> on_socket;  // ranks that train on its socket, itself included

  double most_sharing() const;
  int slowest() const;  // the rank that shares its cores and its socket with most
};

// The first `training` of `ranks` ranks train; others serve them and mostly wait. Throws a
// UserError where a core is named that the node does not have.
NodePlaces places_on_node(const std::string& affinity, const NodeKind& node, int ranks,
                          int training, int threads);

// Whether the simulated time depends on the affinity: cores that are listed may be shared, sockets
// may be crowded. Ranks that are not bound are simulated as if they never moved.
bool affinity_matters(const std::string& affinity, const Cluster& cluster);

}  // namespace lockstep
