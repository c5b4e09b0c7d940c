#pragma once

#include "config/run_config.h"
#include "nn/parameters.h"

namespace lockstep {

// A network and its weights before the first step. It depends on the shape of the samples only, so
// it can be made while they are loaded.
struct InitialNetwork {
  InitialNetwork(const RunConfig& config, const Shape& sample, Device& device);

  // Draws the weights by the run's seed, or reads them from model.from.
  void set_weights(const RunConfig& config);

  Network network;
  Parameters parameters;
};

}  // namespace lockstep
