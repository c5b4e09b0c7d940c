#pragma once

#include <memory>

#include "comm/communicator.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid/simulated_time.h"

namespace lockstep {

// Within an MPI process of SimGrid's SMPI, after MPI_Init: all of them.
std::unique_ptr<Communicator> make_smpi_communicator(const SimulatedJob& job, SimulatedTime& time);

}  // namespace lockstep
