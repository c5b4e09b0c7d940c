#pragma once

#include <memory>

#include "config/run_config.h"
#include "nn/program.h"
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

// One rank's replica of a network, on a device, with the strategy that trains it. Used for
// training, measurement and simulation.
struct Replica {
  // `micro_batch`: largest number of rows that pass through the network at once.
  Replica(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
          const SampleForm& samples, int64_t micro_batch, InitialNetwork initial);
  Replica(const Replica&) = delete;

  // Prepares the strategy before the first step. Later calls do nothing: they would discard state
  // loaded from a checkpoint.
  void prepare();
  bool trains() const { return worker.groups.data.rank() < training_ranks; }

  const StrategyTraits traits;
  const int training_ranks;
  std::unique_ptr<Strategy> strategy;
  Network network;
  Parameters parameters;
  Program program;
  Optimizer optimizer;
  Worker worker;

 private:
  bool prepared_ = false;
};

}  // namespace lockstep
