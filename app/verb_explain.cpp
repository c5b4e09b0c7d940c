#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/toml.h"
#include "parallel/strategy.h"
#include "sim/predictor.h"
#include "text.h"
#include "train/presets.h"
#include "train/run_claim.h"
#include "verbs.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string run, cluster, profile;
  bool json = false, quiet = false, recalibrate = false;
};

// Something one could do.
struct Change {
  std::string what;
  RunConfig config;
  int64_t ranks = 1, nodes = 0;
  double faster_link = 1;
  double epoch_seconds = 0;
};

// What takes most of its time, as the run itself found.
std::string bound_of(const Json& summary) {
  if (!summary.contains("parallel")) return "computing: it is one rank";
  const Json& bound = summary["parallel"].value("bound", Json());
  return bound.is_string() ? bound.get<std::string>() : "unknown: recorded by lockstep 0.1.0";
}

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
      if (p.strategy == entry.name || entry.traits(p).one_update_per_epoch) continue;
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
  if (p.affinity != "compact")
    add("--affinity compact (simulated ranks stay on their cores anyway)",
        [](Change& c) { c.config.parallel.affinity = "compact"; });
  if (config.data.workers == 0)
    add("--set data.workers=2 (needs free cores)", [](Change& c) { c.config.data.workers = 2; });
  return all;
}

void explain(const Options& options) {
  const fs::path folder = run_or_latest(options.run);
  if (!fs::exists(folder / "config.toml") || !fs::exists(folder / "summary.json"))
    throw UserError("{} is not a run that has ended: it has no {}", folder.string(),
                    fs::exists(folder / "config.toml") ? "summary.json" : "config.toml");
  const Json summary = Json::parse(read_text(folder / "summary.json"), nullptr, false);
  if (!summary.is_object() || !summary.contains("total_seconds"))
    throw UserError("{} is damaged", (folder / "summary.json").string());
  RunConfig config = find_config(folder.string(), {});
  const bool simulated = summary.value("simulated", false);
  const Json parallel = summary.value("parallel", Json::object());
  const int64_t ranks = parallel.value("ranks", int64_t{1}),
                hosts = parallel.value("hosts", int64_t{1});
  std::string cluster = options.cluster;
  if (cluster.empty() && simulated)
    cluster = summary.value("simulation", Json::object()).value("cluster", "this");
  if (cluster.empty() && hosts > 1)
    throw UserError("the run was on {} hosts: describe them with --cluster", hosts);
  if (cluster.empty()) cluster = "this";
  const Say say = options.quiet ? Say([](const std::string&) {}) : say_to_stderr;
  Predictor predictor =
      make_predictor(config, {options.profile, options.recalibrate}, cluster,
                     {.engine = ranks <= 32 ? Engine::simgrid : Engine::analytic}, say);
  const Link link = predictor.cluster.link;
  const auto predict = [&](const RunConfig& c, int64_t count, int64_t nodes) {
    return predictor.predict(place_point(c, predictor.cluster, count, nodes, true)).epoch_seconds;
  };
  const double now = predict(config, ranks, hosts);
  std::vector<Change> changes = changes_for(config, predictor.cluster, ranks);
  std::vector<std::string> impossible;
  for (Change& change : changes) {
    predictor.cluster.link.bandwidth = link.bandwidth * change.faster_link;
    predictor.cluster.link.latency = link.latency / change.faster_link;
    try {
      // On as many nodes as before, where ranks are as many.
      change.epoch_seconds =
          predict(change.config, change.ranks, change.ranks == ranks ? hosts : 0);
    } catch (const std::exception& error) {
      impossible.push_back(fmt::format("{}: {}", change.what, error.what()));
    }
  }
  predictor.cluster.link = link;
  std::erase_if(changes, [](const Change& c) { return c.epoch_seconds == 0; });
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.epoch_seconds < b.epoch_seconds; });
  const std::vector<double> epochs = summary.value("epoch_seconds", std::vector<double>{});
  const double took = epochs.empty() ? 0 : *std::min_element(epochs.begin(), epochs.end());
  if (options.json) {
    Json list = Json::array();
    for (const Change& c : changes)
      list.push_back({{"change", c.what},
                      {"simulated_epoch_seconds", c.epoch_seconds},
                      {"gain", 1 - c.epoch_seconds / now}});
    fmt::print("{}\n", Json{{"run", folder.string()},
                            {"bound", bound_of(summary)},
                            {"simulated", simulated},
                            {"epoch_seconds", took},
                            {"simulated_epoch_seconds", now},
                            {"changes", list},
                            {"impossible", impossible}}
                           .dump(2));
    return;
  }
  fmt::print("{}: bound by {}\n", folder.string(), bound_of(summary));
  if (parallel.contains("diagnosis") && parallel["diagnosis"].is_string())
    fmt::print("{}\n", parallel["diagnosis"].get<std::string>());
  fmt::print("an epoch {} {} (the quickest); the simulation says {} for it\n\n",
             simulated ? "was predicted to take" : "took", short_time(took), short_time(now));
  std::vector<std::vector<std::string>> rows = {{"change", "simulated epoch", "gain"}};
  std::vector<std::string> idle;
  for (const Change& c : changes) {
    const double gain = 1 - c.epoch_seconds / now;
    if (std::abs(gain) < 0.005)
      idle.push_back(c.what);
    else
      rows.push_back({c.what, short_time(c.epoch_seconds), fmt::format("{:+.1f}%", gain * 100)});
  }
  fmt::print("{}", table(rows));
  if (!idle.empty()) fmt::print("no difference: {}\n", fmt::join(idle, "; "));
  for (const std::string& one : impossible) fmt::print("not possible: {}\n", one);
}

}  // namespace

void add_explain_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "explain", R"(Why is a run slow, and what would each change gain? By simulation.

Examples:
  lockstep explain runs/cnn-690k
  lockstep explain runs/cnn-690k --cluster my-cluster.toml    a run on several hosts
)");
  verb->add_option("run", options->run, "a run folder, real or simulated (default: runs/latest)");
  verb->add_option("--cluster", options->cluster,
                   "where it ran (default: this machine, or its own)");
  verb->add_option("--profile", options->profile, "another machine's profile");
  verb->add_flag("--recalibrate", options->recalibrate,
                 "measure again what the predictions need, instead of using what is kept");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { explain(*options); });
}

}  // namespace lockstep
