#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "comm/backend/mpi.h"
#include "config/presets.h"
#include "data/load.h"
#include "job/hosts.h"
#include "job/launch.h"
#include "os/affinity.h"
#include "sim/measure/measure_links.h"
#include "sim/point/simulation.h"
#include "sim/predictor.h"
#include "text.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::vector<std::string> configs, changes;
  std::string out, mpi_tables, hosts, cluster;
  int64_t batch = 0;
  int threads = 0;
  bool json = false, quiet = false, recalibrate = false;
};

// A row of the table: step times with the smallest and the largest measured number of ranks.
std::vector<std::string> row_of(const std::string& name, const NetworkCosts& costs) {
  const auto& [few, alone] = *costs.by_ranks.begin();
  const auto& [most, crowded] = *costs.by_ranks.rbegin();
  return {name,
          std::to_string(costs.rows),
          fmt::format("{:.3f}", alone.step() * alone.typical * 1e3),
          fmt::format("{:.3f}", alone.step() * 1e3),
          most > few ? fmt::format("{:.3f}", crowded.step() * 1e3) : "",
          most > few ? fmt::format("{:.2f} x", crowded.step() / alone.step()) : "",
          costs.quietness.quiet() ? "" : "disturbed"};
}

// Starts one rank per host; they measure the links between them.
void calibrate_links(const Options& options) {
  if (mpi_job_size() == 0) {
    if (!options.configs.empty())
      throw UserError("links do not depend on a network; leave out {}", options.configs.front());
    if (fs::exists(options.out))
      throw UserError("{} exists; remove it, or choose another file with --out", options.out);
    Hosts hosts = hosts_of(options.hosts, options.cluster);
    if (hosts.all.size() < 2) throw UserError("links need at least two hosts: --hosts a,b");
    for (Hosts::Host& host : hosts.all) host.slots = 1;
    expect_reachable(hosts);
    launch_ranks(static_cast<int64_t>(hosts.all.size()), hosts);
  }
  constexpr double patience = 120;  // seconds, while others measure
  run_mpi_rank(patience, [&](Communicator& ranks) {
    const std::string name = options.out.empty() ? "measured" : fs::path(options.out).stem();
    const std::string text = measure_links(ranks, name);
    if (text.empty()) return;
    if (!options.out.empty()) write_file(options.out, text);
    fmt::print("{}", text);
    if (!options.out.empty()) fmt::print(stderr, "saved in {}\n", options.out);
  });
}

void calibrate(const Options& options) {
  if (!options.hosts.empty() || !options.cluster.empty()) {
    calibrate_links(options);
    return;
  }
  if (!options.mpi_tables.empty()) {
    measure_mpi_tables(options.mpi_tables);
    return;
  }
  const Say say = options.quiet ? Say([](const std::string&) {}) : say_to_stderr;
  const WallClock clock;
  const double began = clock.seconds();
  if (const size_t cores = allowed_cores().size(); static_cast<size_t>(options.threads) > cores)
    throw UserError(
        "--threads {}: this machine has {} cores, and more threads than cores are not measured; "
        "'lockstep simulate' extrapolates to them",
        options.threads, cores);
  const Measuring measuring = options.recalibrate ? Measuring::again : Measuring::once_more;
  Profile profile = machine_profile(measuring, say);
  if (options.recalibrate) profile.arithmetic = 0;  // the processor may have become slower
  std::vector<std::string> configs = options.configs;
  const bool all = configs.empty();
  if (all)
    for (const Preset& preset : presets()) configs.push_back(preset.name);
  std::vector<std::vector<std::string>> rows = {
      {"network", "rows", "step ms", "undisturbed",
       fmt::format("undisturbed, {} ranks", profile.cores), "slowdown", ""}};
  std::string disturbed_by;  // reason of the last disturbed measurement
  for (const std::string& name : configs) {
    RunConfig config = find_config(name, options.changes);
    if (options.batch > 0) config.train.batch = options.batch;
    if (options.threads > 0) config.device.threads = options.threads;
    config.parallel = {};
    say(fmt::format("measuring the kernels of {}", config.name));
    try {
      const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed), say);
      const SimulatedPoint point{config, 1, 1};
      // Fewer attempts once disturbed: calibrating takes about a minute on a busy machine too.
      const NetworkCosts costs =
          costs_for(point, data, profile, measuring, disturbed_by.empty() ? 3 : 1);
      rows.push_back(row_of(config.name, costs));
      if (!costs.quietness.quiet()) disturbed_by = costs.quietness.why;
    } catch (const std::exception& error) {
      if (!all) throw;
      say(fmt::format("{} is skipped: {}", config.name, error.what()));
    }
  }
  // Measures messages a second time, later than the first, unless the minute is used up.
  if (clock.seconds() - began < 50) refine_tables(profile, say);
  const fs::path path = options.out.empty() ? profile_path() : fs::path(options.out);
  write_profile(path, profile);
  if (!options.out.empty()) write_profile(profile_path(), profile);
  if (options.json) {
    fmt::print("{}", read_text(path));
    return;
  }
  fmt::print("{}\n\n{}", profile.machine, table(rows));
  if (!disturbed_by.empty())
    fmt::print(
        "disturbed: measured while the machine was busy ({}); will be measured again when needed\n",
        disturbed_by);
  if (!profile.mpi.empty()) {
    fmt::print("\nbetween two ranks, ms\n{}", table([&] {
                 std::vector<std::vector<std::string>> lines = {
                     {"operation", "64 B threads", "64 B MPI", "1 MB threads", "1 MB MPI"}};
                 for (const auto& [operation, mpi] : profile.mpi) {
                   if (mpi.largest() < 1048576) continue;
                   const SizeTable& threads = profile.threads[operation];
                   std::vector<std::string> line = {operation};
                   for (const double bytes : {64.0, 1048576.0})
                     for (const SizeTable* t : {&threads, &mpi})
                       line.push_back(fmt::format("{:.4f}", t->at(bytes) * 1e3));
                   lines.push_back(line);
                 }
                 return lines;
               }()));
  }
  fmt::print("\nsaved in {}\n", path.string());
}

}  // namespace

void add_calibrate_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "calibrate", R"(Measure this machine: kernels, contention between ranks, MPI.

Predictions use these measurements; 'lockstep simulate' measures what is missing.

Examples:
  lockstep calibrate                            all presets, under a minute
  lockstep calibrate cnn-690k --batch 64        one network
  lockstep calibrate --out box.json             a profile to use on another machine
  lockstep calibrate --hosts a,b --out lan.toml the links between hosts, as a cluster file
)");
  verb->add_option("configs", options->configs, "presets or TOML files (default: all presets)");
  verb->add_option("--set", options->changes, "change a key of the configurations: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--batch", options->batch, "rows per step")->check(CLI::Range(1, 1 << 24));
  verb->add_option("--threads", options->threads, "threads per rank")->check(CLI::Range(1, 1024));
  verb->add_option("--out", options->out,
                   "also write the profile (with --hosts: the cluster file) to this file");
  verb->add_option("--hosts", options->hosts,
                   "measure the links between these hosts, which ssh reaches: a,b,c");
  verb->add_option("--cluster", options->cluster,
                   "measure the links of an emulated cluster (lockstep cluster up)");
  verb->add_option("--mpi-tables", options->mpi_tables)
      ->group("");  // internal: the ranks it starts
  verb->add_flag("--recalibrate", options->recalibrate,
                 "replace stored measurements of these networks, even faster ones");
  verb->add_flag("--json", options->json, "print the profile instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { calibrate(*options); });
}

}  // namespace lockstep
