#include "parallel/strategy.h"

#include <bit>

#include "base/error.h"
#include "base/nearest.h"
#include "parallel/mesh/mesh.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

std::vector<StrategyEntry>& registry() {
  static std::vector<StrategyEntry> all = {
      all_reduce_entry(),      reduce_broadcast_entry(),  parameter_server_entry(),
      average_weights_entry(), average_gradients_entry(), scatter_gather_entry(),
      sandblaster_entry(),
  };
  return all;
}

}  // namespace

const std::vector<StrategyEntry>& strategies() { return registry(); }

void add_strategy(StrategyEntry entry) {
  for (const StrategyEntry& known : strategies())
    if (std::string_view(known.name) == entry.name)
      throw UserError("a strategy '{}' already exists; use another name", entry.name);
  registry().push_back(std::move(entry));
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const StrategyEntry& entry : strategies()) names.emplace_back(entry.name);
  return names;
}

const StrategyEntry& strategy_named(const std::string& name) {
  for (const StrategyEntry& entry : strategies())
    if (name == entry.name) return entry;
  throw UserError("parallel.strategy = \"{}\" is not known; {}", name,
                  suggestion(name, strategy_names()));
}

StrategyTraits traits_of(const ParallelConfig& config) {
  return strategy_named(config.strategy).traits(config);
}

bool suits(const StrategyTraits& traits, const OptimizerConfig& optimizer) {
  return is_lbfgs(optimizer) ? traits.searches_lines : !traits.only_searches_lines;
}

std::unique_ptr<Strategy> make_strategy(const ParallelConfig& config,
                                        const OptimizerConfig& optimizer) {
  return strategy_named(config.strategy).make(config, optimizer);
}

int training_ranks(const ParallelConfig& config, int ranks) {
  const int64_t servers = traits_of(config).servers;
  if (ranks <= servers)
    throw UserError(
        "strategy \"{}\" with parallel.servers = {} has {} and needs workers in addition; use at "
        "least {} ranks",
        config.strategy, config.servers,
        servers == 1 ? "a rank that does not train"
                     : fmt::format("{} ranks that do not train", servers),
        servers + 1);
  if (traits_of(config).deals_portions && ranks - servers > config.shards)
    throw UserError(
        "strategy \"{}\" cuts a batch into parallel.shards = {} portions, too few for {} workers; "
        "use several portions per worker: parallel.shards = {}",
        config.strategy, config.shards, ranks - servers,
        4 * std::bit_ceil(static_cast<uint64_t>(ranks - servers)));
  if (config.mode == Mode::reproducible && config.shards % ranks != 0)
    throw UserError(
        "parallel.mode = \"reproducible\" cuts a batch into parallel.shards = {} shards, which {} "
        "ranks cannot share evenly; use 1, 2, 4 or 8 ranks, or another number of shards",
        config.shards, ranks);
  return ranks - static_cast<int>(servers);
}

int training_replicas(const ParallelConfig& config, int ranks) {
  return training_ranks(config, mesh_of(config, ranks).data);
}

void choose_strategy(ParallelConfig& config, const std::string& name) {
  config.strategy = name;
  if (traits_of(config).root_deals_samples) config.parts = Parts::contiguous;
}

}  // namespace lockstep
