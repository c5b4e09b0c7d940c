#pragma once

#include "comm/communicator.h"

namespace lockstep {

// What every backend must do, called on each rank of a group. Throws where it does not hold, since
// it also runs in processes that GoogleTest does not see.
void check_conformance(Communicator& ranks);

}  // namespace lockstep
