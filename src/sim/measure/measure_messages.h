#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"
#include "sim/profile/costs.h"

namespace lockstep {

// What two ranks of one machine need for each operation between them, by bytes. Both call it.
std::map<std::string, SizeTable> measure_messages(Communicator& ranks);

}  // namespace lockstep
