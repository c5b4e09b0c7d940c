#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "config/run_config.h"
#include "data/load.h"
#include "train/checkpoint.h"
#include "train/epoch_feed.h"
#include "train/observer.h"
#include "train/replica.h"

namespace lockstep {

// The loss or the gradients stopped being numbers; the trainer holds the last good weights.
class Diverged : public Failure {
 public:
  using Failure::Failure;
};

// One rank of a training. Nothing here knows where it runs: time comes from the clock, arithmetic
// from the device, other ranks are behind the communicator, how they work together is the
// strategy's business, and figures leave through the observer.
class Trainer {
 public:
  Trainer(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
          const DataSplits& data, Observer& observer);

  // Without, none are written.
  void keep_checkpoints_in(CheckpointPlace place) { checkpoints_ = std::move(place); }
  // Notes what this rank does when.
  void record(Trace& trace) { replica_.worker.trace = &trace; }
  // Goes on where the newest undamaged checkpoint in the folder was written. All ranks call it.
  ResumedFrom resume(const fs::path& folder);

  // Runs to the end, or to the end of the step during which `stop` becomes true on some rank.
  Summary run(const std::atomic<bool>& stop);

  int64_t steps_done() const { return at_.global_step; }
  // Whether all ranks make every step together, and so diverge together.
  bool in_step() const { return replica_.traits.global_results; }
  const Network& network() const { return replica_.network; }
  const Parameters& parameters() const { return replica_.parameters; }

 private:
  // Weights and running statistics at some moment.
  struct Snapshot {
    int64_t epoch = 0;  // at whose end
    std::vector<float> weights, state;
  };
  Snapshot snapshot(int64_t epoch) const;
  void restore(const Snapshot& snapshot);

  double learning_rate(int64_t step) const;  // of a step of this epoch, from 1
  StepResult make_step(bool asked_to_stop);
  void make_steps();  // to the end of the epoch, or until ranks stop
  void step_done(const StepResult& result);

  int64_t updates_per_epoch() const;
  EpochReport train_epoch();
  double accuracy(int64_t correct, double samples) const;
  void merge_replicas();
  std::optional<Evaluation> evaluate_together(const Dataset* data);
  void keep_if_best(const EpochReport& report);
  bool has_stopped_improving() const;  // for as long as train.early_stopping allows
  double epochs_done() const;          // the last may be a part of one
  void expect_possible(const Position& at, const fs::path& file) const;
  void expect_finite_weights();  // a relu can hide from the loss that they are not
  std::vector<Optimizer*> all_optimizers();
  void write_checkpoint();
  ParallelFigures parallel_figures();
  // `what` was found not to be a number.
  [[noreturn]] void diverged(int64_t epoch, int64_t step, const std::string& what);

  RunConfig config_;
  Communicator& ranks_;
  Device& device_;
  const Clock& clock_;
  const DataSplits& data_;
  Observer& observer_;
  EpochFeed feed_;
  Replica replica_;

  int64_t epochs_;  // of the whole run
  Position at_;     // how far the run has come: what a checkpoint remembers
  bool stopped_ = false;
  const std::atomic<bool>* stop_ = nullptr;
  std::vector<double> gradient_seconds_, epoch_seconds_;
  StepTimes times_;
  double trained_seconds_ = 0, trained_samples_ = 0;
  Snapshot last_good_, candidate_;  // candidate: of this epoch's start, until a loss proves it
  Snapshot best_;
  StepResult last_;
  CheckpointPlace checkpoints_;
};

}  // namespace lockstep
