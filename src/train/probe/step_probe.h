#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "train/probe/held_batches.h"
#include "train/replica.h"

namespace lockstep {

// Makes training steps of one rank on held batches, with the configured strategy and without a
// trainer. Used by benchmarks, calibration and simulation.
class StepProbe {
 public:
  // `all`: rows per step of all ranks, of which this rank gets its share.
  StepProbe(const RunConfig& config, const HeldBatches& held, int64_t all, Communicator& ranks,
            Device& device, const Clock& clock);
  ~StepProbe();

  void initialise();        // sets the weights; not needed if nothing is computed
  void run(int64_t steps);  // as one epoch

  const std::vector<double>& step_seconds() const { return seconds_; }  // of the last run
  const StepTimes& times() const { return times_; }                     // of the last run
  const StepShare& share() const;
  int training_ranks() const { return replica_.training_ranks; }
  int stages() const { return replica_.mesh.pipeline; }  // ranks per replica
  double bubble() const { return replica_.pipeline.bubble(); }
  const StrategyTraits& traits() const { return replica_.traits; }
  const Parameters& parameters() const { return replica_.parameters; }
  const Sequence& sequence() { return replica_.pipeline.program().sequence(); }
  void listen(PassListener* watcher) { replica_.pipeline.listen(watcher); }
  void record(Trace& trace) { replica_.worker.trace = &trace; }

  // Called before each micro-batch with its rows; simulation adds costs outside of kernels there.
  using BeforeMicroBatch = std::function<void(int64_t rows)>;
  void before_micro_batch(BeforeMicroBatch call);

 private:
  class Source;

  const RunConfig config_;
  const Clock& clock_;
  Replica replica_;
  std::unique_ptr<Source> source_;
  std::vector<double> seconds_;
  StepTimes times_;
};

}  // namespace lockstep
