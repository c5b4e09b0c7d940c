#pragma once

#include <vector>

#include "config/run_config.h"
#include "nn/parameters.h"

namespace lockstep {

// The layers of each part of the network: one part, or those of all stages of a pipeline. Throws a
// UserError if it cannot be cut so.
std::vector<LayerRange> network_parts(const RunConfig& config, const Network& network);

// A network, and the weights of this rank's part of it before the first step. It depends on the
// shape of the samples only, so it can be made while they are loaded.
struct InitialNetwork {
  // `ranks`, `rank`: of the run.
  InitialNetwork(const RunConfig& config, const Shape& sample, Device& device, int ranks, int rank);

  // Draws the weights by the run's seed, or reads them from model.from.
  void set_weights(const RunConfig& config);

  Network network;
  std::vector<LayerRange> parts;  // of a pipeline; else one with all layers
  Parameters parameters;
};

}  // namespace lockstep
