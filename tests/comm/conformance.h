#pragma once

#include "comm/communicator.h"

namespace lockstep {

// What every backend must do, called on each rank of a group. Throws where it does not hold, since
// it also runs in processes that GoogleTest does not see.
void check_conformance(Communicator& ranks);

// Every operation on more than 2 GB, between two ranks. A rank holds 2.2 GB for that.
void check_large_messages(Communicator& ranks);
// Whether this machine has the memory to spare.
bool large_messages_fit();

}  // namespace lockstep
