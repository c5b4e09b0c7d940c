#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cluster/named_cluster.h"
#include "config/presets.h"
#include "job/interrupt.h"
#include "parallel/mesh/mesh.h"
#include "parallel/strategy.h"
#include "progress.h"
#include "sim/numerics.h"
#include "sim/point/simulated_run.h"
#include "sim/predictor.h"
#include "sim/sweep.h"
#include "simulate_tables.h"
#include "text.h"
#include "train/record/run_claim.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string config;
  std::vector<std::string> changes, disturbances;
  std::string mesh, cluster = this_machine_cluster, profile, engine, collectives = "ompi", affinity,
                    out, until;
  std::vector<std::string> strategies, backends;
  std::vector<int64_t> ranks, nodes, batches;
  std::vector<std::string> limits;
  int threads = 0, rounds = 3;
  int64_t folds = 0, samples = 0;
  bool force = false, bench = false, validate = false, numerics = false, crossval = false,
       sweep = false, trace = false, oversubscribe = false, list = false, json = false,
       quiet = false, recalibrate = false;
};

void list_clusters() {
  std::vector<std::vector<std::string>> rows = {
      {"cluster", "nodes", "cores", "network", "description"}};
  rows.push_back({this_machine_cluster, "1", "", "", "this machine, as calibrated"});
  for (const ShippedCluster& shipped : shipped_clusters()) {
    const Cluster c = parse_cluster(shipped.text, shipped.name);
    rows.push_back({shipped.name, std::to_string(c.nodes()), std::to_string(c.kinds[0].cores),
                    c.nodes() > 1 ? to_text(c.topology) : "", c.about});
  }
  fmt::print("{}", table(rows));
}

// All combinations of strategies, backends and ranks or nodes.
std::vector<SimulatedPoint> points_of(const Options& options, const RunConfig& config,
                                      const Cluster& cluster) {
  std::vector<int64_t> ranks = options.ranks, nodes = options.nodes;
  if (ranks.empty() && nodes.empty()) {
    RunConfig whole = config;
    if (!options.mesh.empty()) set_mesh(whole.parallel, options.mesh);
    ranks = {whole.parallel.ranks};
  }
  if (ranks.size() > 1 && nodes.size() > 1)
    throw UserError("give a list of --ranks or of --nodes, not both");
  const auto or_own = [](const std::vector<std::string>& asked, const std::string& own) {
    return asked.empty() ? std::vector<std::string>{own} : asked;
  };
  std::vector<SimulatedPoint> points;
  for (const std::string& strategy : or_own(options.strategies, config.parallel.strategy))
    for (const std::string& backend : or_own(options.backends, to_text(config.parallel.backend)))
      for (size_t i = 0; i < std::max(ranks.size(), nodes.size()); ++i) {
        const auto at = [i](const std::vector<int64_t>& all) {
          return all.empty() ? 0 : all.size() == 1 ? all[0] : all[i];
        };
        RunConfig one = config;
        choose_strategy(one.parallel, strategy);
        one.parallel.backend = *from_text<Backend>(backend);
        if (at(ranks) > 0) one.parallel.ranks = at(ranks);
        if (!options.mesh.empty() && at(ranks) != 1) set_mesh(one.parallel, options.mesh);
        if (at(ranks) == 1) one.parallel.pipeline = 1;  // the baseline
        if (one.parallel.pipeline == 1) one.parallel.schedule = ParallelConfig{}.schedule;
        check(one);
        SimulatedPoint point =
            place_point(one, cluster, at(ranks), at(nodes), options.oversubscribe);
        point.samples = options.samples;
        // One rank is the same point for every strategy and backend.
        const auto is_alone = [](const SimulatedPoint& p) { return p.config.parallel.ranks == 1; };
        if (!is_alone(point) || std::ranges::none_of(points, is_alone)) points.push_back(point);
      }
  return points;
}

// Speed-ups are relative to one rank or, if that does not fit, to the point with the fewest ranks.
Prediction baseline_of(const std::vector<Prediction>& results, const SimulatedPoint& like,
                       Predictor& predictor) {
  const auto fewest = std::ranges::min_element(results, {}, &Prediction::ranks);
  if (fewest->ranks == 1) return *fewest;
  try {
    RunConfig alone = like.config;
    alone.parallel.strategy = ParallelConfig{}.strategy;
    alone.parallel.pipeline = 1;
    alone.parallel.micro_batches = 0;
    SimulatedPoint point = place_point(alone, predictor.cluster, 1, 0, true);
    point.samples = like.samples;
    return predictor.predict(point);
  } catch (const UserError& error) {
    predictor.say(fmt::format("one rank cannot be the baseline: {}", error.what()));
    return *fewest;
  }
}

// A sweep predicts many points, so its default is closed forms.
Engine engine_of(const Options& options) {
  if (options.engine.empty()) return options.sweep ? Engine::analytic : Engine::simgrid;
  return from_text<Engine>(options.engine).value();
}

// Several points get one subfolder each, named by what differs between them.
fs::path folder_of(const fs::path& folder, const std::vector<SimulatedPoint>& points,
                   const SimulatedPoint& point) {
  if (points.size() == 1) return folder;
  const auto differs = [&](const auto& part) {
    return std::ranges::any_of(points,
                               [&](const auto& p) { return part(p) != part(points.front()); });
  };
  const auto strategy = [](const SimulatedPoint& p) { return p.config.parallel.strategy; };
  const auto backend = [](const SimulatedPoint& p) {
    return std::string(to_text(p.config.parallel.backend));
  };
  std::string name = fmt::format("{}{}", point_folder_start, point.config.parallel.ranks);
  if (std::ranges::any_of(points, [&](const SimulatedPoint& p) {
        return p.config.parallel.ranks == point.config.parallel.ranks && p.nodes != point.nodes;
      }))
    name += fmt::format("-nodes-{}", point.nodes);
  if (differs(strategy)) name += "-" + strategy(point);
  if (differs(backend)) name += "-" + backend(point);
  return folder / name;
}

void print_head(const std::string& name, const Predictor& predictor, const std::string& more) {
  fmt::print("SIMULATED: {} on cluster {} ({}), {}, from the profile of {}\n\n", name,
             predictor.cluster.name, predictor.cluster.about, more, predictor.profile.machine);
}

// --numerics, --crossval: virtual ranks that really train.
void simulate_numbers(const Options& options, const std::vector<SimulatedPoint>& points,
                      Predictor& predictor, const fs::path& folder) {
  if (options.samples > 0)
    throw UserError("--numerics trains on the real samples; leave out --samples");
  if (from_text<Engine>(options.engine) == Engine::analytic)
    throw UserError("--numerics simulates every message; use --engine simgrid");
  const InterruptGuard interrupt;
  const WallClock wall;
  std::vector<Json> summaries;
  for (const SimulatedPoint& point : points) {
    predictor.predict(point);  // checks the point and measures missing costs
    const fs::path run = folder_of(folder, points, point);
    Progress progress(wall, options.quiet);
    const std::string text =
        options.crossval
            ? simulate_crossval(point, predictor.data, predictor.profile, predictor.cluster,
                                predictor.how, run, interrupt.flag())
            : simulate_numerics(point, predictor.data, predictor.profile, predictor.cluster,
                                predictor.how, run, progress, interrupt.flag());
    summaries.push_back(Json::parse(text));
  }
  if (options.json) {
    fmt::print("{}\n", Json{{"simulated", true}, {"runs", summaries}}.dump(2));
    return;
  }
  print_head(points.front().config.name, predictor, "with numerics");
  print_numerics(summaries);
  fmt::print("saved in {}\n", folder.string());
}

// --sweep: the best strategy, ranks, threads and batch for a cluster.
void find_best(const Options& options, const RunConfig& config, Predictor& predictor,
               const fs::path& folder, const Say& say) {
  SweepLimit limit;
  for (const std::string& one : options.limits) set_limit(limit, one);
  SweepSpace space{.strategies = options.strategies,
                   .ranks = options.ranks,
                   .batches = options.batches,
                   .threads = {},
                   .compressions = {config.parallel.compress}};
  if (config.parallel.compress == Compression::none && predictor.cluster.nodes() > 1 &&
      config.parallel.mode == Mode::fast)
    space.compressions.push_back(Compression::bf16);
  if (space.strategies.empty())
    for (const StrategyEntry& entry : strategies())
      if (!entry.traits(config.parallel).one_update_per_epoch &&
          suits(entry.traits(config.parallel), config.optimizer))
        space.strategies.emplace_back(entry.name);
  if (space.batches.empty()) space.batches = {config.train.batch};
  const int64_t slots = predictor.cluster.slots();
  if (space.ranks.empty()) {
    for (int64_t n = 1; n < slots; n *= 2) space.ranks.push_back(n);
    space.ranks.push_back(slots);
  }
  if (options.threads > 0)
    space.threads = {options.threads};
  else
    for (int t = 1; t <= std::min(predictor.profile.cores, predictor.cluster.kinds[0].cores);
         t *= 2)
      space.threads.push_back(t);
  const std::vector<SweepEntry> all =
      sweep(config, predictor, space, limit, folder / "sweep.jsonl", say);
  if (all.empty())
    throw UserError("no configuration is within the limit; raise it or use a larger cluster");
  const size_t shown = std::min<size_t>(all.size(), 10);
  if (options.json) {
    Json list = Json::array();
    for (size_t i = 0; i < shown; ++i)
      list.push_back({{"strategy", all[i].strategy},
                      {"compress", to_text(all[i].compress)},
                      {"ranks", all[i].ranks},
                      {"nodes", all[i].nodes},
                      {"threads", all[i].threads},
                      {"batch", all[i].batch},
                      {"global_batch", all[i].global_batch},
                      {"step_seconds", all[i].step_seconds},
                      {"total_seconds", all[i].total_seconds},
                      {"memory_bytes_per_rank", all[i].memory_bytes}});
    fmt::print("{}\n", Json{{"simulated", true}, {"best_first", list}}.dump(2));
    return;
  }
  print_head(config.name, predictor, fmt::format("{} configurations compared", all.size()));
  std::vector<std::vector<std::string>> rows = {{"strategy", "compress", "ranks", "nodes",
                                                 "threads", "batch", "global batch", "step ms",
                                                 "total", "MB/rank"}};
  for (size_t i = 0; i < shown; ++i)
    rows.push_back(
        {all[i].strategy, to_text(all[i].compress), std::to_string(all[i].ranks),
         std::to_string(all[i].nodes), std::to_string(all[i].threads), std::to_string(all[i].batch),
         std::to_string(all[i].global_batch), fmt::format("{:.2f}", all[i].step_seconds * 1e3),
         short_time(all[i].total_seconds), fmt::format("{:.0f}", all[i].memory_bytes / 1e6)});
  fmt::print("{}", table(rows));
  fmt::print(
      "larger global batches, compression and average-weights affect accuracy; check it with "
      "--numerics\n"
      "saved in {}\n",
      folder.string());
}

void simulate(const Options& options) {
  if (options.list) {
    list_clusters();
    return;
  }
  if (options.config.empty())
    throw UserError("name what to simulate: lockstep simulate cnn-690k --cluster 10gbe-8x16");
  RunConfig config = find_config(options.config, options.changes);
  if (!options.until.empty()) config.train.until = options.until;
  if (target_of(config.train) && !options.numerics)
    throw UserError(
        "when a target (train.until, --until) is reached depends on the weights; use --numerics, or "
        "drop the target");
  if (options.threads > 0) config.device.threads = options.threads;
  if (!options.affinity.empty()) config.parallel.affinity = options.affinity;
  if (options.folds > 0) config.crossval.folds = options.folds;
  check(config);
  const Say say = options.quiet ? Say([](const std::string&) {}) : say_to_stderr;
  Predictor predictor =
      make_predictor(config, {options.profile, options.recalibrate}, options.cluster,
                     {.engine = engine_of(options),
                      .collectives = options.collectives,
                      .loading = !options.bench,
                      .trace = options.trace},
                     say);
  for (const std::string& one : options.disturbances) disturb(predictor.cluster, one);
  if (!options.affinity.empty() && !affinity_matters(options.affinity, predictor.cluster))
    throw UserError(
        "--affinity {} makes no difference to a simulation on cluster '{}': its nodes have one "
        "socket, and simulated ranks never move; leave it out, list cores (0,1 or 0,0), or give "
        "the cluster file node.sockets",
        options.affinity, predictor.cluster.name);
  const std::string name = config.name + "-simulated";
  if (options.sweep) {
    if (config.parallel.pipeline > 1 || !options.mesh.empty())
      throw UserError("--sweep does not compare pipelines; leave --mesh (parallel.pipeline) out");
    // An interrupted sweep resumes in its folder; finished points of another setup are ignored.
    const bool goes_on = fs::exists(fs::path(options.out) / "sweep.jsonl");
    const RunClaim claim = goes_on ? RunClaim::for_resumed(options.out)
                                   : RunClaim::for_new(name, options.out, options.force);
    find_best(options, config, predictor, claim.path(), say);
    return;
  }
  const std::vector<SimulatedPoint> points = points_of(options, config, predictor.cluster);
  for (const SimulatedPoint& point : points)
    expect_to_fit(point, memory_of(point, predictor.data), predictor.cluster);
  if (options.validate) {
    print_validation(validate(points, predictor.data, predictor.profile, predictor.cluster,
                              predictor.how, options.rounds, say),
                     options.json);
    return;
  }
  const RunClaim claim = RunClaim::for_new(name, options.out, options.force);
  const fs::path& folder = claim.path();
  if (options.numerics || options.crossval) {
    simulate_numbers(options, points, predictor, folder);
    return;
  }
  std::vector<Prediction> results;
  for (const SimulatedPoint& point : points) {
    results.push_back(predictor.predict(point));
    write_simulated_run(folder_of(folder, points, point), point, results.back(),
                        summary_of(point, results.back(), predictor.cluster, predictor.profile,
                                   predictor.how, predictor.data));
  }
  const Prediction baseline = baseline_of(results, points.front(), predictor);
  if (options.json) {
    Json all = Json::array();
    for (size_t i = 0; i < results.size(); ++i) {
      all.push_back(to_json(results[i]));
      all.back()["strategy"] = points[i].config.parallel.strategy;
      all.back()["backend"] = to_text(points[i].config.parallel.backend);
    }
    fmt::print("{}\n", Json{{"name", config.name},
                            {"simulated", true},
                            {"cluster", predictor.cluster.name},
                            {"profile", predictor.profile.machine},
                            {"engine", to_text(engine_of(options))},
                            {"points", all},
                            {"baseline", to_json(baseline)}}
                           .dump(2));
    return;
  }
  print_head(config.name, predictor, "strategy " + points.front().config.parallel.strategy);
  print_predictions(points, results, baseline);
  print_cautions(results);
  fmt::print("saved in {}\n", folder.string());
}

}  // namespace

void add_simulate_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb =
      app.add_subcommand("simulate", R"(Predict the time of a training on a cluster you don't have.

Examples:
  lockstep simulate --list                                          the included clusters
  lockstep simulate cnn-690k --cluster 10gbe-8x16 --ranks 1,2,4,8,16,32,64,128
  lockstep simulate cnn-690k --cluster my-cluster.toml --ranks 1024 --trace
  lockstep simulate mlp-3 --cluster edge-wifi --nodes 1,2,4,8
  lockstep simulate mlp-3 --cluster edge-wifi --nodes 8 --numerics  accuracy too
  lockstep simulate cnn-690k --cluster 10gbe-8x16 --sweep --limit nodes=4
  lockstep simulate cnn-690k --ranks 1,2 --validate                 compare with measurements
)");
  verb->add_option("config", options->config, "a preset, a TOML file, or a run folder");
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--cluster", options->cluster,
                   "a name from --list, a TOML file, or 'this' for this machine (the default)");
  verb->add_option("--ranks", options->ranks, "number of ranks, or a list to compare")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000));
  verb->add_option("--mesh", options->mesh,
                   "how ranks divide the network: data=2,pipeline=4 (docs/mesh.md)");
  verb->add_option("--nodes", options->nodes,
                   "number of nodes, or a list (default: as few as hold the ranks)")
      ->delimiter(',')
      ->check(CLI::Range(1, 10'000'000));
  verb->add_option("--threads", options->threads, "threads per rank")->check(CLI::Range(1, 1024));
  verb->add_option("--affinity", options->affinity,
                   "bind ranks to cores: none, a list such as 0,1,2,4 or, if nodes have several "
                   "sockets, compact or scatter");
  verb->add_option("--backend", options->backends,
                   "run ranks as MPI processes or as threads, or compare both")
      ->delimiter(',')
      ->check(CLI::IsMember(all_texts<Backend>()));
  verb->add_option("--strategy", options->strategies,
                   "a value of parallel.strategy, or a list to compare")
      ->delimiter(',');
  verb->add_option("--until", options->until,
                   "with --numerics: stop when this is reached: accuracy=0.98, loss=0.1")
      ->type_name("METRIC=VALUE");
  verb->add_flag("--numerics", options->numerics,
                 "train the virtual ranks for real, to predict accuracy too");
  verb->add_flag("--crossval", options->crossval,
                 "like --numerics, for a cross-validation of crossval.folds folds");
  verb->add_option("--folds", options->folds, "like --crossval, with this number of folds")
      ->check(CLI::Range(2, 100000));
  verb->add_option("--samples", options->samples,
                   "assume this number of training samples (not with --numerics)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40));
  verb->add_flag("--sweep", options->sweep, "find the best strategy, ranks, threads and batch");
  verb->add_option("--batches", options->batches, "for --sweep: values of train.batch")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  verb->add_option("--limit", options->limits,
                   "for --sweep: time=SECONDS (then the fewest nodes are best), nodes=N, "
                   "memory_gb=N")
      ->type_name("KEY=VALUE");
  verb->add_flag("--validate", options->validate,
                 "measure too, and print the error of the prediction (with --cluster this)");
  verb->add_option("--rounds", options->rounds,
                   "for --validate: rounds of measuring and simulating in turn")
      ->check(CLI::Range(1, 1000));
  verb->add_option("--engine", options->engine,
                   "simgrid: simulate every message; analytic: closed forms, for very many ranks")
      ->check(CLI::IsMember(all_texts<Engine>()));
  verb->add_option("--collectives", options->collectives,
                   "algorithms of the collectives that are left to MPI: those of Open MPI, of "
                   "MPICH, or SimGrid's defaults")
      ->check(CLI::IsMember({"ompi", "mpich", "default"}));
  verb->add_option("--profile", options->profile, "another machine's profile (calibrate --out)");
  verb->add_flag("--recalibrate", options->recalibrate,
                 "measure again instead of using stored measurements");
  verb->add_option("--disturb", options->disturbances,
                   "disturbances to simulate: noise=0.1, stragglers=1, straggler_speed=0.5, "
                   "fails_at=600, restart=60; one, or several separated by commas")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out,
                   "folder (default: a new one, runs/<name>-simulated, -simulated-2, ...)");
  verb->add_flag("--force", options->force, "replace the run in --out");
  verb->add_flag("--oversubscribe", options->oversubscribe, "allow more ranks than cores");
  verb->add_flag("--bench", options->bench,
                 "without reading data: batches are in memory, as in 'lockstep bench'");
  verb->add_flag("--trace", options->trace, "write trace.json of a few steps");
  verb->add_flag("--list", options->list, "list the included clusters");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] {
    options->crossval = options->crossval || options->folds > 0;
    simulate(*options);
  });
}

}  // namespace lockstep
