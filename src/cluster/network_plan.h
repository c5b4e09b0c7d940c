#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace lockstep {

// Commands for `ip -batch` and `tc -batch`.
struct LinkCommands {
  std::string ip, tc;
};

// The links of an emulated cluster: a bridge per switch, a pair of virtual interfaces per link, and
// a token bucket at both ends that limits its rate.
struct NetworkPlan {
  LinkCommands switches;            // in the namespace of the switches, before those of the hosts
  std::vector<LinkCommands> hosts;  // in the namespace of each host
};

// `hosts`: a process in the network namespace of each host. Links carry the cluster's payload
// bandwidth; latencies are those of this machine.
NetworkPlan plan_network(const Cluster& cluster, const std::vector<int>& hosts);

// All hosts of an emulated cluster; clusters do not see each other.
inline constexpr const char* emulated_network = "10.79.0.0/16";
std::string address_of_host(int host);

}  // namespace lockstep
