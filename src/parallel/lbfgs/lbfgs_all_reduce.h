#pragma once

#include <memory>

#include "parallel/strategy.h"

namespace lockstep {

// Strategy "all-reduce" with the optimiser L-BFGS: gradients are summed as for other optimisers;
// each rank keeps a part of the history, and the ranks exchange dot products and parts of the
// direction.
std::unique_ptr<Strategy> make_lbfgs_all_reduce(const ParallelConfig& config,
                                                const OptimizerConfig& optimizer);

}  // namespace lockstep
