#pragma once

#include "comm/communicator.h"

namespace lockstep {

// Checks what every backend must do; called on each rank of a group. Throws on failure, because it
// also runs in processes without GoogleTest.
void check_conformance(Communicator& ranks);

// Checks every operation on more than 2 GB, between two ranks. Each rank needs 2.2 GB.
void check_large_messages(Communicator& ranks);
// Whether this machine has enough free memory.
bool large_messages_fit();

}  // namespace lockstep
