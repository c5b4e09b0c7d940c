#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "comm/backend.h"
#include "comm/communicator.h"
#include "sim/cluster.h"
#include "sim/profile/profile.h"

namespace lockstep {

// Where ranks of a simulated run are, and what they are.
struct SimulatedJob {
  const Cluster& cluster;
  const Profile& profile;
  std::vector<int> nodes;  // of each rank
  int threads = 1;         // a rank
  Backend backend = Backend::mpi;
  std::string collectives = "ompi";  // whose choice of algorithms MPI's own collectives follow
  bool moves_data = false;           // the numbers of large messages matter
};

struct SimulatedRank {
  Communicator& ranks;
  VirtualClock& clock;
  int node = 0;
};
using SimulatedMain = std::function<void(SimulatedRank&)>;

// Runs every rank in virtual time on SimGrid, one at a time, within this process; once a process.
void run_on_simgrid(const SimulatedJob& job, const SimulatedMain& rank_main);

// Small messages are always moved: they carry what ranks agree on.
constexpr size_t always_moved = 4096;
// Smaller ones leave before their receiver is ready.
constexpr size_t eager_bytes = 65536;

// What the library lockstep_simgrid offers.
struct SimgridLibrary {
  void (*run)(const SimulatedJob& job, const SimulatedMain& rank_main);
};

}  // namespace lockstep

extern "C" const lockstep::SimgridLibrary lockstep_simgrid_library;
