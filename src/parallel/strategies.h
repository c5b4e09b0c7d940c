#pragma once

#include "parallel/strategy.h"

namespace lockstep {

// One file a strategy; strategies.cpp lists them.
std::unique_ptr<Strategy> make_all_reduce(const ParallelConfig&, const OptimizerConfig&);
std::unique_ptr<Strategy> make_reduce_broadcast(const ParallelConfig&, const OptimizerConfig&);
std::unique_ptr<Strategy> make_parameter_server(const ParallelConfig&, const OptimizerConfig&);
std::unique_ptr<Strategy> make_average_weights(const ParallelConfig&, const OptimizerConfig&);
std::unique_ptr<Strategy> make_average_gradients(const ParallelConfig&, const OptimizerConfig&);
std::unique_ptr<Strategy> make_scatter_gather(const ParallelConfig&, const OptimizerConfig&);

}  // namespace lockstep
