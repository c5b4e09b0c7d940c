#pragma once

#include <vector>

#include "nn/network.h"

namespace lockstep {

// Contiguous parts of a list with these costs, so that the largest sum is as small as possible;
// returns the end of each part. No part is empty: there must be at least as many costs as parts.
std::vector<size_t> min_max_partition(const std::vector<double>& costs, size_t parts);

// The places where a network can be cut: each range is one step, which may be several fused layers.
std::vector<LayerRange> steps_of(const Network& network);

// Cuts a network into parts of about equal work, by the number of operations and of values that are
// read and written. Throws a UserError if there are more parts than steps.
std::vector<LayerRange> parts_of(const Network& network, size_t parts);

}  // namespace lockstep
