#pragma once

#include "comm/communicator.h"

namespace lockstep {

// The group of one.
std::unique_ptr<Communicator> make_self_communicator();

std::string host_name();

}  // namespace lockstep
