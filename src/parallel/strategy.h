#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/parallel_config.h"
#include "parallel/worker.h"

namespace lockstep {

// How ranks train one network together. An epoch, not a step: a rank that serves weights has no
// batches of its own.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // Before the first epoch.
  virtual void prepare(Worker&) {}
  // Trains from step `first` (0, unless resumed) to the end of the epoch, or until all ranks agree
  // that one was asked to stop.
  virtual void train_epoch(Worker& worker, BatchSource& source, StepHandler& handler,
                           int64_t first) = 0;
  // After the last epoch.
  virtual void finish(Worker&) {}

  // Whether step results are sums over all ranks, or of this rank alone.
  virtual bool results_are_global() const { return true; }
  // Whether all ranks hold the same weights at the end of an epoch.
  virtual bool replicas_agree() const { return true; }
  // Ranks that have samples to train on: the first so many.
  virtual int training_ranks(int ranks) const { return ranks; }
  virtual bool one_step_an_epoch() const { return false; }
  // Optimisers of its own, beside the worker's: part of a checkpoint.
  virtual std::vector<Optimizer*> optimizers() { return {}; }
  // Whole numbers that it remembers from step to step, by name: the same.
  virtual std::vector<std::pair<std::string, int64_t*>> counters() { return {}; }
  // What it measured on this rank.
  virtual std::vector<NamedFigure> figures() const { return {}; }
};

struct StrategyEntry {
  const char* name;
  const char* description;
  std::unique_ptr<Strategy> (*make)(const ParallelConfig&, const OptimizerConfig&);
};
const std::vector<StrategyEntry>& strategies();
std::vector<std::string> strategy_names();
std::unique_ptr<Strategy> make_strategy(const ParallelConfig& config,
                                        const OptimizerConfig& optimizer);

}  // namespace lockstep
