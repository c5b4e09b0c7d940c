#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace lockstep {

// A host of an emulated cluster: namespaces of this machine with their own network and host name.
struct EmulatedHost {
  std::string name, address;
  int slots = 1;    // cores in the cluster file: the number of ranks meant for it
  int process = 0;  // holds its namespaces
};

// A small cluster that this machine imitates, from `lockstep cluster up` to `lockstep cluster
// down`. A keeper process owns its hosts: if it ends, even by a crash, the kernel removes them.
struct EmulatedCluster {
  std::string name;
  std::string about;  // hosts and links, in words
  fs::path folder;    // of its keeper, until it is taken down
  int keeper = 0;     // process
  std::vector<EmulatedHost> hosts;

  // A program that runs a command on a host, in place of ssh: agent HOST COMMAND...
  fs::path agent() const { return folder / "agent"; }
  fs::path description() const { return folder / "cluster.toml"; }  // the cluster file
};

constexpr int most_emulated_hosts = 64;

// of_caller: the hosts end with the calling thread, even if it is killed.
enum class Lifetime { until_down, of_caller };

// Why this machine cannot emulate hosts: no root, a missing tool, no network namespaces; "": it
// can.
std::string why_no_emulation();

// Makes the hosts and links that the cluster file describes. Needs root, and the tools ip, tc and
// nsenter; a UserError says what is missing. `text`: of the file. `congestion`: TCP congestion
// control of the hosts; empty: this machine's.
EmulatedCluster bring_up(const Cluster& cluster, const std::string& text,
                         const std::string& congestion, Lifetime lifetime = Lifetime::until_down);

// Ends what runs on the hosts and removes them.
void take_down(const EmulatedCluster& cluster);

// Those that are up. Removes what a killed keeper has left.
std::vector<EmulatedCluster> emulated_clusters();
// Throws a UserError that names those that are up.
EmulatedCluster find_emulated_cluster(const std::string& name);

}  // namespace lockstep
