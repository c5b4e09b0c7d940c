#pragma once

#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Where mpiexec starts ranks: hosts that ssh reaches, or those of an emulated cluster.
struct Hosts {
  struct Host {
    std::string name;  // as mpiexec gets it
    int slots = 0;     // ranks meant for it; 0: as many as needed
  };
  std::vector<Host> all;
  fs::path agent;         // program that runs a command on a host; empty: ssh
  std::string network;    // that ranks use, such as "10.0.0.0/24"; empty: any
  bool emulated = false;  // mpiexec runs on the first host

  bool empty() const { return all.empty(); }
  int64_t slots() const;
};

// "a,b:4,c": names or addresses, each with an optional number of ranks. A UserError says what is
// wrong with the list.
Hosts parse_hosts(const std::string& list);
// The hosts of an emulated cluster that is up.
Hosts emulated_hosts(const std::string& cluster);
// Those of the list, or of the cluster if one is named. Throws a UserError if both are.
Hosts hosts_of(const std::string& list, const std::string& cluster);

// Starts this program on every host at the same time. A UserError names hosts that do not answer
// within 8 seconds, and those with another version.
void expect_reachable(const Hosts& hosts);

// Command that starts a program on a host.
std::vector<std::string> words_on_host(const Hosts& hosts, const std::string& host,
                                       const std::vector<std::string>& program);

}  // namespace lockstep
