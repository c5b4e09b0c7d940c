#pragma once

#include "comm/communicator.h"

namespace lockstep {

// A group of one rank.
std::unique_ptr<Communicator> make_self_communicator();

std::string host_name();

}  // namespace lockstep
