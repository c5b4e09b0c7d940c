#pragma once

#include <functional>

#include "comm/communicator.h"

namespace lockstep {

// Whether mpiexec, mpirun or srun started this process as one of several ranks, and of how many.
// 0: no.
int mpi_job_size();

// Runs `rank_main` as this process's rank of that job. An error on any rank ends all of them.
void run_mpi_rank(double timeout, const std::function<void(Communicator&)>& rank_main);

}  // namespace lockstep
