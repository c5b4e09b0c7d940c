#pragma once

#include <simgrid/s4u.hpp>
#include <vector>

#include "sim/cluster.h"

namespace lockstep {

// The cluster as SimGrid's hosts, links and routes; host i is node i. `slots`: ranks that compute
// at once on a node of so many cores.
std::vector<simgrid::s4u::Host*> make_platform(const Cluster& cluster, double local_latency,
                                               int threads_a_rank);

}  // namespace lockstep
