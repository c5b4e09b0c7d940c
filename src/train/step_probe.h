#pragma once

#include <memory>
#include <vector>

#include "nn/program.h"
#include "parallel/strategy.h"
#include "train/held_batches.h"

namespace lockstep {

// One rank that makes training steps on held batches, with the strategy of the configuration and no
// trainer around it: what benchmarks time, what calibration measures and what simulation runs.
class StepProbe final : private StepHandler {
 public:
  // The rows of this rank in a step are its part of `all` rows.
  StepProbe(const RunConfig& config, const Held& held, int64_t all, Communicator& ranks,
            Device& device, const Clock& clock);
  ~StepProbe() override;

  void initialise();  // the weights; where nothing is computed, they need not be
  // So many steps: an epoch of them.
  void run(int64_t steps);

  const std::vector<double>& step_seconds() const { return seconds_; }  // of the last run
  const StepTimes& times() const { return times_; }                     // the same
  const StepShare& share() const;
  int training_ranks() const { return training_; }
  const Strategy& strategy() const { return *strategy_; }
  const Parameters& parameters() const { return parameters_; }
  Program& program() { return program_; }  // one rank alone may listen to its layers
  void record(Trace& trace) { worker_.trace = &trace; }

  // What a step's pieces cost beyond arithmetic: called before each, where that is simulated.
  using Load = std::function<void(int64_t rows)>;
  void load_by(Load load);

 private:
  class Source;

  double learning_rate(int64_t) const override { return config_.optimizer.lr; }
  void check(int64_t, double, double) override {}
  void step_done(const StepResult& result) override;
  bool asked_to_stop() const override { return false; }
  void stopping() override {}

  const RunConfig config_;
  const Clock& clock_;
  std::unique_ptr<Strategy> strategy_;
  int training_;
  Network network_;
  Parameters parameters_;
  Program program_;
  Optimizer optimizer_;
  Worker worker_;
  std::unique_ptr<Source> source_;
  bool prepared_ = false;
  double last_ = 0;
  std::vector<double> seconds_;
  StepTimes times_;
};

// Rows of a step of all ranks together.
int64_t rows_of_all(const RunConfig& config, int64_t samples, int64_t training_ranks);

}  // namespace lockstep
