#pragma once

#include <memory>

#include "comm/communicator.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid/simulated_time.h"

namespace lockstep {

// Communicator of all ranks; called within an SMPI process after MPI_Init.
std::unique_ptr<Communicator> make_smpi_communicator(const SimulatedJob& job, SimulatedTime& time);

}  // namespace lockstep
