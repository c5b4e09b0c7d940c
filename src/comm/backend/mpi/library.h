#pragma once

#include "comm/communicator.h"

namespace lockstep {

// Interface of the library lockstep_mpi. It is loaded only for runs with MPI ranks, because loading
// MPI takes longer than training a small network.
struct MpiLibrary {
  // Joins the job that mpiexec or srun started. Requires MPI_THREAD_FUNNELED: only the calling
  // thread of each process uses MPI.
  std::unique_ptr<Communicator> (*join)(double timeout);
  void (*leave)();
};

}  // namespace lockstep

extern "C" const lockstep::MpiLibrary lockstep_mpi_library;
