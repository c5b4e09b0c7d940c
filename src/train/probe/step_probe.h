#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "train/probe/held_batches.h"
#include "train/replica.h"

namespace lockstep {

// One rank that makes training steps on held batches, with the strategy of the configuration and no
// trainer around it: what benchmarks time, what calibration measures and what simulation runs.
class StepProbe {
 public:
  // The rows of this rank in a step are its share of `all` rows.
  StepProbe(const RunConfig& config, const HeldBatches& held, int64_t all, Communicator& ranks,
            Device& device, const Clock& clock);
  ~StepProbe();

  void initialise();        // the weights; where nothing is computed, they need not be
  void run(int64_t steps);  // as one epoch

  const std::vector<double>& step_seconds() const { return seconds_; }  // of the last run
  const StepTimes& times() const { return times_; }                     // the same
  const StepShare& share() const;
  int training_ranks() const { return replica_.training_ranks; }
  const StrategyTraits& traits() const { return replica_.traits; }
  const Parameters& parameters() const { return replica_.parameters; }
  Program& program() { return replica_.program; }  // to listen to its layers
  void record(Trace& trace) { replica_.worker.trace = &trace; }

  // Called before each micro-batch, with its rows: simulation charges there what is not arithmetic.
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
