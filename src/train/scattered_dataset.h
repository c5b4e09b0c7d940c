#pragma once

#include <memory>

#include "comm/communicator.h"
#include "data/dataset.h"

namespace lockstep {

// Scatters rank 0's samples: each rank receives its contiguous part, as floats. Samples keep their
// numbers in the whole set. All ranks call it; `whole` is null on all but rank 0.
std::unique_ptr<Dataset> scatter_samples(const Dataset* whole, Communicator& ranks);

}  // namespace lockstep
