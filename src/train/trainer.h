#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "config/run_config.h"
#include "data/load.h"
#include "train/checkpoint/replica_checkpoint.h"
#include "train/epoch_feed.h"
#include "train/observer.h"
#include "train/whole_network.h"

namespace lockstep {

// The loss or the gradients are no longer finite. The trainer holds the last good weights.
class Diverged : public Failure {
 public:
  using Failure::Failure;
};

// One rank of a training run: owns the loop over epochs and steps. It does not know where it runs.
// Time comes from the clock, arithmetic from the device, messages go through the communicator, the
// strategy decides how ranks work together, and results go to the observer.
class Trainer {
 public:
  // `initial`: the network of the configuration on the device; without it, it is made here.
  Trainer(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
          const DataSplits& data, Observer& observer,
          std::optional<InitialNetwork> initial = std::nullopt);

  // Without this call no checkpoints are written.
  void keep_checkpoints_in(CheckpointPlace place) { place_ = std::move(place); }
  // Records when this rank does what.
  void record(Trace& trace) { replica_.worker.trace = &trace; }
  // Restores the newest undamaged checkpoint in the folder. All ranks call it.
  ResumedFrom resume(const fs::path& folder);

  // Trains to the end, or until the end of the step during which `stop` becomes true on any rank.
  Summary run(const std::atomic<bool>& stop);

  int64_t steps_done() const { return at_.global_step; }
  // Whether all ranks take part in every step, and so diverge together.
  bool in_step() const { return replica_.traits.global_results; }
  const Network& network() const { return replica_.network; }
  const Parameters& parameters() const { return replica_.parameters; }  // of this rank's part
  // Those of the whole network, on rank 0; see collect_network().
  std::optional<Parameters> collect() { return collect_network(replica_); }

 private:
  double learning_rate(int64_t step) const;  // step of this epoch, from 1
  StepResult make_step(bool asked_to_stop);
  void make_steps();  // until the epoch ends or the ranks stop
  void step_done(const StepResult& result);

  int64_t updates_per_epoch() const;
  EpochReport train_epoch();
  void train_epochs(Summary& summary);
  double accuracy(int64_t correct, double samples) const;
  void merge_replicas();
  std::optional<Evaluation> evaluate(const Dataset* data);  // on all ranks together
  void keep_if_best(const EpochReport& report);
  void look_at_target(const std::optional<Evaluation>& evaluation);
  bool has_reached_target() const { return target_result_ && target_result_->reached; }
  bool has_stopped_improving() const;  // for as long as train.early_stopping allows
  double epochs_done() const;          // may be fractional
  void expect_finite_weights();        // a relu can hide NaN weights from the loss
  void write_checkpoint();
  ParallelFigures parallel_figures();
  // `what`: the value that is not finite.
  [[noreturn]] void diverged(int64_t epoch, int64_t step, const std::string& what);

  RunConfig config_;
  Communicator& ranks_;
  Device& device_;
  const Clock& clock_;
  const DataSplits& data_;
  Observer& observer_;
  EpochFeed feed_;
  Replica replica_;
  ReplicaCheckpoint checkpoint_;

  int64_t epochs_;          // in the whole run
  Position at_;             // progress of the run, part of a checkpoint
  int64_t last_epoch_ = 0;  // the last one that was trained, wholly or in part
  bool stopped_ = false;
  const std::atomic<bool>* stop_ = nullptr;
  std::optional<Target> target_;
  std::optional<TargetResult> target_result_;
  double started_ = 0;  // time on the clock
  std::vector<double> gradient_seconds_, epoch_seconds_;
  StepTimes times_;
  double trained_seconds_ = 0, trained_samples_ = 0;
  Snapshot last_good_, candidate_;  // candidate: start of this epoch, until a loss is finite
  Snapshot best_;
  StepResult last_;
  CheckpointPlace place_;
};

}  // namespace lockstep
