#include "comm/backend/mpi.h"

#include <cstdlib>

#include "comm/backend/mpi/library.h"
#include "os/library.h"

namespace lockstep {
namespace {

const MpiLibrary& mpi() {
  static const MpiLibrary* loaded =
      load_library<MpiLibrary>("lockstep_mpi.so", "lockstep_mpi_library");
  return *loaded;
}

}  // namespace

int mpi_job_size() {
  // Set by mpiexec of Open MPI, of MPICH and of MVAPICH2.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"})
    if (const char* value = std::getenv(name)) return std::atoi(value);
  // srun sets all three for the tasks of a step, but not for the batch script itself.
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks && std::getenv("SLURM_PROCID") && std::getenv("PMIX_RANK") ? std::atoi(tasks) : 0;
}

void run_mpi_rank(double timeout, const std::function<void(Communicator&)>& rank_main) {
  const std::unique_ptr<Communicator> ranks = mpi().join(timeout);
  try {
    rank_main(*ranks);
  } catch (const UserError& error) {
    ranks->abort(error.what(), 2);
    throw;
  } catch (const std::exception& error) {
    ranks->abort(error.what(), 1);
    throw;
  }
  mpi().leave();
}

}  // namespace lockstep
