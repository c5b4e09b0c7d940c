#pragma once

#include <memory>

#include "comm/communicator.h"
#include "data/dataset.h"

namespace lockstep {

// Rank 0's samples dealt out: each rank receives its contiguous part, as floats, under the numbers
// the samples have in the whole set. All ranks call it; only rank 0 gives the samples.
std::unique_ptr<Dataset> scatter_samples(const Dataset* whole, Communicator& ranks);

}  // namespace lockstep
