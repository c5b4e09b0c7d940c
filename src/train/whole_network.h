#pragma once

#include <optional>

#include "train/replica.h"

namespace lockstep {

// The weights and state of the whole network, in host memory, on rank 0, where its stages are on
// several ranks; empty on other ranks, and where each rank holds all of them. The ranks of the
// first replica call it together.
std::optional<Parameters> collect_network(Replica& replica);

}  // namespace lockstep
