#pragma once

#include <vector>

#include "train/observer.h"

namespace lockstep {

// The figures of all ranks as shares of the training time, with one sentence on what to do where
// parallel is slower than it should be. The first `training` ranks have samples.
ParallelFigures summarise(const std::vector<RankTimes>& ranks, int training, int64_t steps,
                          int64_t bytes_per_step, int64_t global_batch,
                          const std::string& strategy = "all-reduce");

}  // namespace lockstep
