#include "parallel/strategies.h"

#include "base/error.h"
#include "base/nearest.h"

namespace lockstep {

const std::vector<StrategyEntry>& strategies() {
  static const std::vector<StrategyEntry> all = {
      {"all-reduce", "gradients averaged each step, in buckets, during the backward pass",
       make_all_reduce},
      {"reduce-broadcast", "gradients summed on rank 0 each step and sent back to all",
       make_reduce_broadcast},
      {"parameter-server", "servers hold the weights, workers push gradients and pull weights",
       make_parameter_server},
      {"average-weights", "ranks train alone and average their weights now and then",
       make_average_weights},
      {"average-gradients-per-epoch", "one step an epoch, with the gradients of a whole pass",
       make_average_gradients},
      {"scatter-gather", "rank 0 scatters samples, sends weights, gathers gradients",
       make_scatter_gather},
  };
  return all;
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : strategies()) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(const ParallelConfig& config,
                                        const OptimizerConfig& optimizer) {
  for (const StrategyEntry& entry : strategies())
    if (config.strategy == entry.name) return entry.make(config, optimizer);
  throw UserError("parallel.strategy = \"{}\" is not known; {}", config.strategy,
                  suggestion(config.strategy, strategy_names()));
}

}  // namespace lockstep
