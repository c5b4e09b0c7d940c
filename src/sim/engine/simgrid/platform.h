#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/cluster.h"

namespace lockstep {

// The first `nodes` of the cluster as SimGrid's hosts, links and routes; host i is node i. A torus
// and a dragonfly are made whole, because messages also pass through nodes that are not in use.
std::vector<simgrid::s4u::Host*> make_platform(const Cluster& cluster, int nodes,
                                               double local_latency, int threads_a_rank);

}  // namespace lockstep
