#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cluster/cluster.h"
#include "comm/backend.h"
#include "comm/communicator.h"
#include "sim/profile/profile.h"

namespace lockstep {

// Ranks of a simulated run: their nodes, threads and backend.
struct SimulatedJob {
  const Cluster& cluster;
  const Profile& profile;
  std::vector<int> nodes;  // node of each rank
  int threads = 1;         // per rank
  Backend backend = Backend::mpi;
  std::string collectives = "ompi";  // MPI library whose choice of algorithms SMPI follows
  bool moves_data = false;           // large messages carry data
};

struct SimulatedRank {
  Communicator& ranks;
  VirtualClock& clock;
  int node = 0;
};
using SimulatedMain = std::function<void(SimulatedRank&)>;

// Runs every rank in virtual time on SimGrid, one at a time, within this process. May be called
// once per process.
void run_on_simgrid(const SimulatedJob& job, const SimulatedMain& rank_main);

// Bytes. Messages up to this size always carry data, because ranks use them to agree.
constexpr size_t always_moved = 4096;
// Bytes. Smaller messages are sent before their receiver is ready.
constexpr size_t eager_bytes = 65536;

// Interface of the library lockstep_simgrid.
struct SimgridLibrary {
  void (*run)(const SimulatedJob& job, const SimulatedMain& rank_main);
};

}  // namespace lockstep

extern "C" const lockstep::SimgridLibrary lockstep_simgrid_library;
