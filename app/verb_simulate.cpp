#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/load.h"
#include "presets.h"
#include "sim/simulated_run.h"
#include "simulating.h"
#include "text.h"
#include "verbs.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string config;
  std::vector<std::string> changes, disturbances;
  std::string cluster = "this", profile, backend, engine = "simgrid", collectives = "ompi", out;
  std::vector<int64_t> ranks, nodes;
  int threads = 0;
  bool bench = false, trace = false, oversubscribe = false, list = false, json = false, quiet = false;
};

void list_clusters() {
  std::vector<std::vector<std::string>> rows = {{"cluster", "nodes", "cores", "network", "what"}};
  rows.push_back({"this", "1", "", "", "this machine, as calibrated"});
  for (const ShippedCluster& shipped : shipped_clusters()) {
    const Cluster c = parse_cluster(shipped.text, shipped.name);
    rows.push_back({shipped.name, std::to_string(c.nodes()), std::to_string(c.kinds[0].cores),
                    c.nodes() > 1 ? topology_name(c.topology) : "", c.about});
  }
  fmt::print("{}", table(rows));
}

Json to_json(const Prediction& r) {
  return {{"ranks", r.ranks},
          {"nodes", r.nodes},
          {"threads", r.threads},
          {"global_batch", r.global_batch},
          {"simulated", true},
          {"oversubscribed", r.oversubscribed},
          {"step_seconds", r.step_seconds},
          {"step_seconds_low", r.low},
          {"step_seconds_high", r.high},
          {"epoch_seconds", r.epoch_seconds},
          {"total_seconds", r.total_seconds},
          {"compute_seconds", r.times.compute},
          {"exposed_communication_seconds", r.times.exposed},
          {"hidden_communication_seconds", r.times.hidden},
          {"waiting_seconds", r.times.waiting},
          {"loading_seconds", r.times.load},
          {"memory_bytes_per_rank", r.memory.sum()},
          {"cautions", r.cautions}};
}

// Against the first point: it has the fewest ranks.
std::vector<std::string> row_of(const Prediction& r, const Prediction& first) {
  const double speed_up = first.total_seconds / r.total_seconds;
  const double more = static_cast<double>(r.ranks) / static_cast<double>(first.ranks);
  return {std::to_string(r.ranks),
          std::to_string(r.nodes),
          fmt::format("{:.2f}", r.step_seconds * 1e3),
          fmt::format("{:.2f}-{:.2f}", r.low * 1e3, r.high * 1e3),
          short_time(r.epoch_seconds),
          short_time(r.total_seconds),
          fmt::format("{:.2f}", speed_up),
          fmt::format("{:.0f}%", speed_up / more * 100),
          fmt::format("{:.1f}", (1 - 1 / speed_up) * 100),
          fmt::format("{:.2f}", (r.times.exposed + r.times.waiting) * 1e3),
          fmt::format("{:.2f}", r.times.hidden * 1e3),
          fmt::format("{:.0f}", r.memory.sum() / 1e6)};
}

// More ranks than these only take longer.
void print_turning_point(const std::vector<Prediction>& results) {
  const auto best = std::min_element(
      results.begin(), results.end(),
      [](const auto& a, const auto& b) { return a.total_seconds < b.total_seconds; });
  if (results.size() < 2) return;
  if (best + 1 != results.end())
    fmt::print("beyond {} ranks more ranks lose: {} takes {}, {} takes {}\n", best->ranks,
               best->ranks, short_time(best->total_seconds), (best + 1)->ranks,
               short_time((best + 1)->total_seconds));
  else
    fmt::print("more ranks gain up to the {} that were simulated\n", best->ranks);
}

Engine engine_named(const std::string& name) {
  return name == "analytic" ? Engine::analytic : Engine::simgrid;
}

void simulate(const Options& options) {
  if (options.list) {
    list_clusters();
    return;
  }
  if (options.config.empty())
    throw UserError("name what to simulate: lockstep simulate cnn-690k --cluster 10gbe-8x16");
  RunConfig config = find_config(options.config, options.changes);
  if (options.threads > 0) config.device.threads = options.threads;
  if (!options.backend.empty()) config.parallel.backend = options.backend;
  if (config.parallel.strategy == "scatter-gather") config.parallel.parts = "contiguous";
  check(config);
  const Say say = options.quiet ? Say([](const std::string&) {}) : say_to_stderr;
  const bool own = options.profile.empty();
  Profile profile = own ? machine_profile(false, say) : read_profile(options.profile);
  Cluster cluster = find_cluster(options.cluster, profile);
  for (const std::string& one : options.disturbances) disturb(cluster, one);

  std::vector<int64_t> ranks = options.ranks, nodes = options.nodes;
  if (ranks.empty() && nodes.empty()) ranks = {config.parallel.ranks};
  if (ranks.size() > 1 && nodes.size() > 1)
    throw UserError("give a list of --ranks or of --nodes, not both");
  std::vector<SimulatedPoint> points;
  for (size_t i = 0; i < std::max(ranks.size(), nodes.size()); ++i) {
    const auto at = [i](const std::vector<int64_t>& all) {
      return all.empty() ? 0 : all.size() == 1 ? all[0] : all[i];
    };
    points.push_back(place_point(config, cluster, at(ranks), at(nodes), options.oversubscribe));
  }

  const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed), say);
  for (const SimulatedPoint& point : points) expect_to_fit(point, memory_of(point, data), cluster);
  const SimulateOptions how{.engine = engine_named(options.engine),
                            .collectives = options.collectives,
                            .loading = !options.bench,
                            .trace = options.trace};
  const fs::path folder =
      options.out.empty() ? fs::path("runs") / (config.name + "-simulated") : fs::path(options.out);
  std::vector<Prediction> results;
  for (const SimulatedPoint& point : points) {
    const size_t known = profile.networks.size();
    costs_for(point, data, profile, own);
    if (own && profile.networks.size() > known) write_profile(profile_path(), profile);
    results.push_back(simulate_point(point, data, profile, cluster, how));
    const Prediction& r = results.back();
    write_simulated_run(points.size() == 1 ? folder : folder / fmt::format("ranks-{}", r.ranks),
                        point, r, summary_of(point, r, cluster, profile, how, data));
  }

  if (options.json) {
    Json all = Json::array();
    for (const Prediction& r : results) all.push_back(to_json(r));
    fmt::print("{}\n", Json{{"name", config.name},
                            {"simulated", true},
                            {"cluster", cluster.name},
                            {"profile", profile.machine},
                            {"engine", options.engine},
                            {"strategy", config.parallel.strategy},
                            {"points", all}}
                           .dump(2));
    return;
  }
  fmt::print("SIMULATED: {} on cluster {} ({}), strategy {}, from the profile of {}\n\n",
             config.name, cluster.name, cluster.about, config.parallel.strategy, profile.machine);
  std::vector<std::vector<std::string>> rows = {{"ranks", "nodes", "step ms", "band", "epoch",
                                                 "total", "speed-up", "efficiency", "PI %",
                                                 "exposed ms", "hidden ms", "MB/rank"}};
  for (const Prediction& r : results) rows.push_back(row_of(r, results.front()));
  fmt::print("{}", table(rows));
  print_turning_point(results);
  std::vector<std::string> said;
  for (const Prediction& r : results)
    for (const std::string& caution : r.cautions)
      if (std::find(said.begin(), said.end(), caution) == said.end()) said.push_back(caution);
  for (const std::string& caution : said) fmt::print("note: {}\n", caution);
  fmt::print("kept in {}\n", folder.string());
}

}  // namespace

void add_simulate_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("simulate", R"(Predict a training on a cluster you don't have.

Examples:
  lockstep simulate --list                                          clusters that come along
  lockstep simulate cnn-690k --cluster 10gbe-8x16 --ranks 1,2,4,8,16,32,64,128
  lockstep simulate cnn-690k --cluster my-cluster.toml --ranks 1024 --trace
  lockstep simulate mlp-3 --cluster edge-wifi --nodes 1,2,4,8
)");
  verb->add_option("config", options->config, "a preset, a TOML file, or a run folder");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--cluster", options->cluster,
                   "one of --list, a TOML file, or this: the machine itself");
  verb->add_option("--ranks", options->ranks, "ranks: one number, or several to compare")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000));
  verb->add_option("--nodes", options->nodes,
                   "nodes to spread them over (default: as few as hold them)")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000));
  verb->add_option("--threads", options->threads, "threads a rank")->check(CLI::Range(1, 1024));
  verb->add_option("--backend", options->backend, "what ranks are: mpi or threads")
      ->check(CLI::IsMember({"mpi", "threads"}));
  verb->add_option("--engine", options->engine,
                   "simgrid: every message; analytic: closed forms, for very many ranks")
      ->check(CLI::IsMember({"simgrid", "analytic"}));
  verb->add_option(
      "--collectives", options->collectives,
      "whose choice of algorithms MPI's collectives follow: ompi, mpich, mvapich2, impi");
  verb->add_option("--profile", options->profile, "another machine's profile (calibrate --out)");
  verb->add_option("--disturb", options->disturbances,
                   "what goes wrong: noise=0.1, stragglers=1, straggler_speed=0.5, fails_at=600, "
                   "restart=60")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out, "folder (default: runs/<name>-simulated)");
  verb->add_flag("--oversubscribe", options->oversubscribe, "more ranks than cores are meant");
  verb->add_flag("--bench", options->bench,
                 "batches are held in memory, as 'lockstep bench' holds them");
  verb->add_flag("--trace", options->trace, "write trace.json of a few steps");
  verb->add_flag("--list", options->list, "clusters that come with lockstep");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { simulate(*options); });
}

}  // namespace lockstep
