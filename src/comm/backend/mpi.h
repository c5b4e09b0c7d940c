#pragma once

#include <functional>

#include "comm/communicator.h"

namespace lockstep {

// Number of ranks of the job if mpiexec, mpirun or srun started this process as one of them, else
// 0.
int mpi_job_size();

// Runs `rank_main` as this process's rank of that job. An error on any rank ends the job.
void run_mpi_rank(double timeout, const std::function<void(Communicator&)>& rank_main);

}  // namespace lockstep
