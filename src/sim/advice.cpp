#include "sim/advice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/toml.h"
#include "os/affinity.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

struct Change {
  std::string what;
  RunConfig config;
  int64_t ranks = 1;
  double faster_link = 1;
};

std::vector<Change> changes_for(const RunConfig& config, const Cluster& cluster, int64_t ranks) {
  std::vector<Change> all;
  const auto add = [&](const std::string& what, const auto& change, int64_t other_ranks = 0) {
    Change c{.what = what, .config = config, .ranks = other_ranks > 0 ? other_ranks : ranks};
    change(c);
    all.push_back(std::move(c));
  };
  const auto key = [](const std::string& k, const auto& value) {
    return fmt::format("--set {}={}", k, value);
  };
  const ParallelConfig& p = config.parallel;
  const int64_t batch = config.train.batch;
  if (ranks > 1) {
    for (const StrategyEntry& entry : strategies()) {
      if (p.strategy == entry.name || entry.traits(p).one_update_per_epoch ||
          !suits(entry.traits(p), config.optimizer))
        continue;
      std::string what = key("parallel.strategy", entry.name);
      for (const std::string& setting : entry.tuned) what += " --set " + setting;
      if (entry.traits(p).changes_learning) what += " (changes the accuracy)";
      add(what, [&](Change& c) {
        choose_strategy(c.config.parallel, entry.name);
        for (const std::string& setting : entry.tuned)
          set_keys(c.config, {parse_assignment(setting)});
      });
    }
    if (traits_of(p).reduces_in_buckets)
      for (const double mb : {0.25, 4.0})
        if (mb != p.bucket_mb)
          add(key("parallel.bucket_mb", mb), [&](Change& c) { c.config.parallel.bucket_mb = mb; });
    if (traits_of(p).compresses && cluster.nodes() > 1 && p.mode == Mode::fast)
      for (const Compression compress : {Compression::bf16, Compression::top_k})
        if (p.compress == Compression::none)
          add(key("parallel.compress", to_text(compress)) + " (changes the accuracy)",
              [&](Change& c) { c.config.parallel.compress = compress; });
    add(
        fmt::format("half the ranks: {}", ranks / 2), [](Change&) {}, ranks / 2);
    if (p.backend == Backend::mpi && cluster.nodes() == 1)
      add("--backend threads", [](Change& c) { c.config.parallel.backend = Backend::threads; });
    if (cluster.nodes() > 1) add("links ten times as fast", [](Change& c) { c.faster_link = 10; });
  }
  add(
      fmt::format("twice the ranks: {}", ranks * 2), [](Change&) {}, ranks * 2);
  if (ranks % 2 == 0 && ranks > 1)
    add(
        fmt::format("{} ranks of {} threads", ranks / 2, config.device.threads * 2),
        [](Change& c) { c.config.device.threads *= 2; }, ranks / 2);
  if (batch > 0)
    for (const int64_t times : {2, 4})
      add(fmt::format("--set train.batch={} (changes the accuracy)", batch * times),
          [&](Change& c) { c.config.train.batch = batch * times; });
  if (affinity_kind(p.affinity) != AffinityKind::compact)
    add("--affinity compact (simulated ranks stay on their cores anyway)",
        [](Change& c) { c.config.parallel.affinity = "compact"; });
  if (config.data.workers == 0)
    add("--set data.workers=2 (needs free cores)", [](Change& c) { c.config.data.workers = 2; });
  return all;
}

}  // namespace

Advices advise(Predictor& predictor, const RunConfig& config, int64_t ranks, int64_t hosts) {
  const auto predict = [&](const RunConfig& c, int64_t count, int64_t nodes) {
    return predictor.predict(place_point(c, predictor.cluster, count, nodes, true)).epoch_seconds;
  };
  Advices all{.epoch_seconds = predict(config, ranks, hosts)};
  const Cluster cluster = predictor.cluster;
  for (const Change& change : changes_for(config, cluster, ranks)) {
    predictor.cluster = cluster;
    predictor.cluster.scale_links(change.faster_link);
    try {
      // Same number of ranks: same number of nodes. Otherwise (0) nodes are filled in order.
      const int64_t nodes = change.ranks == ranks ? hosts : 0;
      all.changes.push_back({change.what, predict(change.config, change.ranks, nodes)});
    } catch (const std::exception& error) {
      all.impossible.push_back(fmt::format("{}: {}", change.what, error.what()));
    }
  }
  predictor.cluster = cluster;
  std::ranges::sort(all.changes, {}, &Advice::epoch_seconds);
  return all;
}

}  // namespace lockstep
