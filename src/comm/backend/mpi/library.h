#pragma once

#include "comm/communicator.h"

namespace lockstep {

// What the library lockstep_mpi offers. It is loaded when a run has MPI ranks: loading MPI takes
// longer than training a small network.
struct MpiLibrary {
  // Joins the job that mpiexec or srun started. MPI is told that only the calling thread of each
  // process will use it (MPI_THREAD_FUNNELED), and checked to grant that.
  std::unique_ptr<Communicator> (*join)(double timeout);
  void (*leave)();
};

}  // namespace lockstep

extern "C" const lockstep::MpiLibrary lockstep_mpi_library;
