#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/parallel_config.h"
#include "parallel/worker.h"

namespace lockstep {

// What a strategy needs and guarantees with a given configuration. Other modules depend on nothing
// else.
struct StrategyTraits {
  int64_t servers = 0;  // number of ranks, the last ones, that hold weights instead of training
  bool global_results = true;   // figures of a step are sums over all ranks
  bool one_model = true;        // all ranks hold the same weights at the end of an epoch
  bool meets_each_step = true;  // ranks wait for each other in every step
  bool one_update_per_epoch = false;
  bool reproducible = false;         // can give the same bits for any number of ranks
  bool reduces_in_buckets = false;   // parallel.bucket_mb and parallel.overlap have an effect
  bool compresses = false;           // parallel.compress has an effect
  bool penalizes_norms = false;      // optimizer.norm_penalty has an effect
  bool averages_weights = false;     // ranks exchange weights instead of gradients
  bool root_deals_samples = false;   // rank 0 sends each rank its samples: parts are contiguous
  bool sends_whole_arrays = false;   // even if sparse inputs touch only a few rows
  bool can_clip = true;              // some rank knows the norm of the whole gradient
  bool changes_learning = false;     // weights differ from one rank with the same global batch
  bool splits_networks = false;      // a replica may be on several ranks (Mesh)
  bool searches_lines = false;       // can train with L-BFGS
  bool only_searches_lines = false;  // and with nothing else
  bool deals_portions = false;       // ranks ask for shards of the batch instead of having shares
  int64_t period = 1;                // steps after which the pattern of messages repeats
  const char* less_communication = nullptr;  // advice to the user; null: general advice
};

// What the trainer decides before a step.
struct StepPlan {
  int64_t step = 0;  // within the epoch, from 0
  double learning_rate = 0;
  bool asked_to_stop = false;  // on this rank
};

// How ranks train one network together. The trainer owns the loop over steps and epochs.
class Strategy {
 public:
  virtual ~Strategy() = default;

  // Called once, before the first epoch.
  virtual void prepare(Worker&) {}
  // One step of a rank that trains: gradients of its share, exchange, update. If loss or gradients
  // are not finite, throws NotFinite before weights change.
  virtual StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) = 0;
  // One epoch of a rank that does not train (see StrategyTraits::servers).
  virtual void serve(Worker&) {}
  // After the last step of an epoch, on all ranks. `stopping`: this rank leaves the epoch early.
  // Returns whether the run must stop; adds the time it takes to `times`.
  virtual bool end_epoch(Worker&, bool stopping, StepTimes&) { return stopping; }
  // After the last epoch.
  virtual void finish(Worker&) {}

  // Whether all ranks hold the same weights now, between two epochs.
  virtual bool replicas_agree() const { return true; }
  // Optimisers in addition to the worker's; part of a checkpoint.
  virtual std::vector<Optimizer*> optimizers() { return {}; }
  // Integers that persist between steps, by name; part of a checkpoint.
  virtual std::vector<std::pair<std::string, int64_t*>> counters() { return {}; }
  // Arrays of this rank that persist between steps, in host memory; part of a checkpoint.
  virtual std::vector<std::span<float>> arrays() { return {}; }
  // The same in device memory.
  virtual std::vector<HostMirror> mirrors() { return {}; }
  // Figures measured on this rank.
  virtual std::vector<NamedFigure> figures() const { return {}; }
};

struct StrategyEntry {
  const char* name;
  const char* description;
  StrategyTraits (*traits)(const ParallelConfig&);
  std::unique_ptr<Strategy> (*make)(const ParallelConfig&, const OptimizerConfig&);
  std::vector<std::string> tuned = {};  // settings worth trying with it: "key=value"
};
const std::vector<StrategyEntry>& strategies();
std::vector<std::string> strategy_names();
const StrategyEntry& strategy_named(const std::string& name);
// Adds a user-defined strategy. Call it before any configuration is read.
void add_strategy(StrategyEntry entry);

StrategyTraits traits_of(const ParallelConfig& config);
// Whether the strategy can train with this optimiser.
bool suits(const StrategyTraits& traits, const OptimizerConfig& optimizer);
std::unique_ptr<Strategy> make_strategy(const ParallelConfig& config,
                                        const OptimizerConfig& optimizer);

// Number of ranks that train: the first ones. Throws a UserError if the strategy cannot run on
// `ranks` ranks.
int training_ranks(const ParallelConfig& config, int ranks);

// Number of replicas that train, each on the ranks that its mesh gives it.
int training_replicas(const ParallelConfig& config, int ranks);

// Sets the strategy and other settings that it needs.
void choose_strategy(ParallelConfig& config, const std::string& name);

}  // namespace lockstep
