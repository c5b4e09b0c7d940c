#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "config/presets.h"
#include "sim/advice.h"
#include "text.h"
#include "train/record/run_claim.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string run, cluster, profile;
  bool json = false, quiet = false, recalibrate = false;
};

// What limits the run's speed, as recorded in its summary.
std::string bound_of(const Json& summary) {
  if (!summary.contains("parallel")) return "computing: the run has one rank";
  const Json& bound = summary["parallel"].value("bound", Json());
  return bound.is_string() ? bound.get<std::string>() : "unknown: recorded by lockstep 0.1.0";
}

void explain(const Options& options) {
  const fs::path folder = run_or_latest(options.run);
  if (!fs::exists(folder / "config.toml") || !fs::exists(folder / "summary.json"))
    throw UserError("{} is not a finished run: it has no {}", folder.string(),
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
    cluster = summary.value("simulation", Json::object()).value("cluster", this_machine_cluster);
  if (cluster.empty() && hosts > 1)
    throw UserError("the run was on {} hosts: describe them with --cluster", hosts);
  if (cluster.empty()) cluster = this_machine_cluster;
  const Say say = options.quiet ? Say([](const std::string&) {}) : say_to_stderr;
  Predictor predictor =
      make_predictor(config, {options.profile, options.recalibrate}, cluster,
                     {.engine = ranks <= 32 ? Engine::simgrid : Engine::analytic}, say);
  const Advices advices = advise(predictor, config, ranks, hosts);
  const double now = advices.epoch_seconds;
  const std::vector<double> epochs = summary.value("epoch_seconds", std::vector<double>{});
  const double took = epochs.empty() ? 0 : *std::min_element(epochs.begin(), epochs.end());
  if (options.json) {
    Json list = Json::array();
    for (const Advice& c : advices.changes)
      list.push_back({{"change", c.change},
                      {"simulated_epoch_seconds", c.epoch_seconds},
                      {"gain", 1 - c.epoch_seconds / now}});
    fmt::print("{}\n", Json{{"run", folder.string()},
                            {"bound", bound_of(summary)},
                            {"simulated", simulated},
                            {"epoch_seconds", took},
                            {"simulated_epoch_seconds", now},
                            {"changes", list},
                            {"impossible", advices.impossible}}
                           .dump(2));
    return;
  }
  fmt::print("{}: bound by {}\n", folder.string(), bound_of(summary));
  if (parallel.contains("diagnosis") && parallel["diagnosis"].is_string())
    fmt::print("{}\n", parallel["diagnosis"].get<std::string>());
  fmt::print("fastest epoch: {} {}, {} simulated now\n\n", short_time(took),
             simulated ? "predicted" : "measured", short_time(now));
  std::vector<std::vector<std::string>> rows = {{"change", "simulated epoch", "gain"}};
  std::vector<std::string> idle;
  for (const Advice& c : advices.changes) {
    const double gain = 1 - c.epoch_seconds / now;
    if (std::abs(gain) < 0.005)
      idle.push_back(c.change);
    else
      rows.push_back({c.change, short_time(c.epoch_seconds), fmt::format("{:+.1f}%", gain * 100)});
  }
  fmt::print("{}", table(rows));
  if (!idle.empty()) fmt::print("no difference: {}\n", fmt::join(idle, "; "));
  for (const std::string& one : advices.impossible) fmt::print("not possible: {}\n", one);
}

}  // namespace

void add_explain_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "explain", R"(Show what limits a run's speed, and simulate what changes would gain.

Examples:
  lockstep explain runs/cnn-690k
  lockstep explain runs/cnn-690k --cluster my-cluster.toml    a run on several hosts
)");
  verb->add_option("run", options->run, "a run folder, real or simulated (default: runs/latest)");
  verb->add_option("--cluster", options->cluster,
                   "where it ran (default: this machine; of a simulated run, its cluster)");
  verb->add_option("--profile", options->profile, "another machine's profile");
  verb->add_flag("--recalibrate", options->recalibrate,
                 "measure again instead of using stored measurements");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { explain(*options); });
}

}  // namespace lockstep
