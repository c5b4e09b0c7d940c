#pragma once

#include <memory>

#include "config/run_config.h"
#include "parallel/strategy.h"
#include "train/initial_network.h"

namespace lockstep {

// Properties of the samples that a network must fit.
struct SampleForm {
  Shape shape;
  int64_t outputs = 0;  // classes, or values to predict
  bool sparse = false;
  std::string source;  // name of the data, for messages
};

// How the samples of a step pass through the network.
struct StepForm {
  int64_t micro_batch = 1;    // rows that pass through the network at once, at most
  int64_t micro_batches = 1;  // of the longest step
};

Pipeline::Plan pipeline_plan(const RunConfig& config, const std::vector<LayerRange>& parts,
                             const StepForm& step, bool sparse);

// One rank's replica of a network, or its part of one, on a device, with the strategy that trains
// it. Used for training, measurement and simulation.
struct Replica {
  Replica(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
          const SampleForm& samples, const StepForm& step, InitialNetwork initial);
  Replica(const Replica&) = delete;

  // Prepares the strategy before the first step. Later calls do nothing: they would discard state
  // loaded from a checkpoint.
  void prepare();
  bool trains() const { return position.data < training_ranks; }

  const Mesh mesh;
  const MeshPosition position;
  MeshGroups groups;
  const StrategyTraits traits;
  const int training_ranks;
  std::unique_ptr<Strategy> strategy;
  Network network;
  const std::vector<LayerRange> parts;  // of the network, on all stages
  Parameters parameters;                // of this rank's parts
  Pipeline pipeline;
  Optimizer optimizer;
  Worker worker;

 private:
  bool prepared_ = false;
};

}  // namespace lockstep
