#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "data/load.h"
#include "data/loader.h"
#include "nn/parameters.h"
#include "nn/program.h"
#include "optim/optimizer.h"
#include "train/observer.h"
#include "train/run_config.h"

namespace lockstep {

// The loss or the gradients stopped being numbers; the trainer holds the last good weights.
class Diverged : public Failure {
 public:
  using Failure::Failure;
};

// Trains one network on one data set, step by step. Nothing here knows where it runs: time comes
// from the clock, arithmetic from the device, figures leave through the observer.
class Trainer {
 public:
  Trainer(const RunConfig& config, Device& device, const Clock& clock, const DataSplits& data,
          Observer& observer);

  // Runs to the end, or to the end of the step during which `stop` becomes true.
  Summary run(const std::atomic<bool>& stop);

  const Network& network() const { return network_; }
  const Parameters& parameters() const { return parameters_; }

 private:
  struct EpochSums {
    double loss = 0;
    int64_t correct = 0, samples = 0;
  };

  // Weights and running statistics at some moment.
  struct Snapshot {
    int64_t epoch = 0;  // at whose end
    std::vector<float> weights, state;
  };
  Snapshot snapshot(int64_t epoch) const;
  void restore(const Snapshot& snapshot);

  EpochReport train_epoch(int64_t epoch, const std::atomic<bool>& stop);
  StepReport step(int64_t epoch, int64_t step, EpochSums& sums);
  double current_rate(int64_t epoch, int64_t step) const;
  void keep_if_best(const EpochReport& report);
  [[noreturn]] void diverged(int64_t epoch, int64_t step, double loss, double norm);

  RunConfig config_;
  Device& device_;
  const Clock& clock_;
  const DataSplits& data_;
  Observer& observer_;
  Network network_;
  Parameters parameters_;
  int64_t batch_, micro_batch_, steps_per_epoch_;
  Program program_;
  Optimizer optimizer_;
  BatchLoader loader_;
  std::vector<double> gradient_seconds_;
  Snapshot last_good_, candidate_,
      best_;  // candidate: of this epoch's start, until a loss proves it
  double gradient_norm_ = 0;
  double best_loss_ = 0;
  int64_t best_epoch_ = 0;
};

// The size of the pieces a batch of this many samples is worked through in; 0 samples: all of them.
int64_t micro_batch_for(int64_t batch, int64_t limit, int64_t samples);

}  // namespace lockstep
