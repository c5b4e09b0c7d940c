#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "cluster/cluster.h"

namespace lockstep {

// The first `nodes` nodes of the cluster as SimGrid's hosts, links and routes; host i is node i. A
// torus or dragonfly is built completely, because messages also pass through unused nodes.
std::vector<simgrid::s4u::Host*> make_platform(const Cluster& cluster, int nodes,
                                               double local_latency, int threads_per_rank);

}  // namespace lockstep
