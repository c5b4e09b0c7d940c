#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"
#include "sim/profile/costs.h"

namespace lockstep {

// Times of all operations between two ranks of one machine, by bytes. Both ranks call it.
std::map<std::string, SizeTable> measure_messages(Communicator& ranks);

}  // namespace lockstep
