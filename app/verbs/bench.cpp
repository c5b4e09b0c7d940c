#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/undisturbed.h"
#include "base/with_commas.h"
#include "comm/backend/mpi.h"
#include "config/presets.h"
#include "job/benchmark.h"
#include "job/ranks.h"
#include "os/memory.h"
#include "rank_options.h"
#include "sim/emulated_compute.h"
#include "text.h"
#include "train/probe/held_batches.h"
#include "train/shares.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string config;
  std::vector<std::string> changes;
  std::string input;
  int64_t batch = 0;
  int threads = 0;
  double seconds = 3;
  RankOptions ranks;
  bool json = false, emulate = false;
};

using Json = nlohmann::ordered_json;

// The figures that both kinds of benchmark print.
void add_steps(Json& json, const BenchmarkSteps& steps) {
  json["steps"] = steps.seconds.size();
  json["samples_per_second"] = steps.rate(steps.typical());
  json["best_samples_per_second"] = steps.rate(steps.best());
  json["step_ms"] = steps.typical() * 1e3;
  json["undisturbed_step_ms"] = undisturbed(steps.seconds) * 1e3;
  json["best_step_ms"] = steps.best() * 1e3;
}

std::string text_of(const BenchmarkSteps& steps) {
  return fmt::format(
      "{} samples/s (median of {} steps, {:.4g} ms each; undisturbed {:.4g} ms; best {})\n",
      with_commas(static_cast<int64_t>(steps.rate(steps.typical()))), steps.seconds.size(),
      steps.typical() * 1e3, undisturbed(steps.seconds) * 1e3,
      with_commas(static_cast<int64_t>(steps.rate(steps.best()))));
}

void print(const RankBenchmark& r, const std::string& affinity_map, const RunConfig& config,
           const HeldBatches& held, const Communicator& ranks, const Options& options) {
  const ParallelFigures& f = r.figures;
  if (options.json) {
    Json json{{"name", config.name},
              {"data", held.provenance},
              {"device", r.steps.device},
              {"emulated_compute", options.emulate},
              {"emulated_hosts", f.emulated_hosts},
              {"ranks", ranks.size()},
              {"backend", ranks.backend()},
              {"strategy", config.parallel.strategy},
              {"oversubscribed", f.oversubscribed && !options.emulate},
              {"batch_per_rank", r.batch_per_rank},
              {"global_batch", r.global_batch}};
    add_steps(json, r.steps);
    json["computing_share"] = f.computing_share;
    json["hidden_communication_share"] = f.hidden_share;
    json["exposed_communication_share"] = f.exposed_share;
    json["waiting_share"] = f.waiting_share;
    json["diagnosis"] = f.diagnosis;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  if (f.emulated_hosts) fmt::print("EMULATED HOSTS: they are parts of one machine\n");
  if (options.emulate)
    fmt::print("EMULATED COMPUTE: ranks sleep for predicted times; messages are real\n");
  fmt::print("{}{}, batch {} per rank, {} global, {}, {}\n{} ranks, {}, strategy {}{}\n",
             affinity_map, config.name, r.batch_per_rank, r.global_batch, r.steps.device,
             held.provenance, ranks.size(), ranks.backend(), config.parallel.strategy,
             f.oversubscribed && !options.emulate ? ", oversubscribed" : "");
  fmt::print("{}", text_of(r.steps));
  fmt::print("computing {}, communication {} (and {} hidden), waiting {}\n",
             percent(f.computing_share), percent(f.exposed_share), percent(f.hidden_share),
             percent(f.waiting_share));
  if (!f.diagnosis.empty()) fmt::print("{}\n", f.diagnosis);
}

void print(const Benchmark& b, const RunConfig& config, const HeldBatches& held, bool as_json) {
  if (as_json) {
    Json layers = Json::array();
    for (const LayerTimes& l : b.layers)
      layers.push_back({{"layer", l.layer},
                        {"forward_ms", l.forward * 1e3},
                        {"backward_ms", l.backward * 1e3},
                        {"kernel", l.kernel}});
    Json json{{"name", config.name},
              {"data", held.provenance},
              {"device", b.steps.device},
              {"batch", held.rows},
              {"threads", config.device.threads}};
    add_steps(json, b.steps);
    json["update_ms"] = b.update * 1e3;
    json["layers"] = layers;
    json["dense_equivalent_flops_per_sample"] = b.flops;
    json["sgemm_peak_flops"] = b.sgemm_peak;
    json["share_of_sgemm_peak"] = b.share_of_peak();
    json["peak_memory_bytes"] = peak_memory_bytes();
    fmt::print("{}\n", json.dump(2));
    return;
  }
  std::vector<std::vector<std::string>> rows = {{"layer", "forward ms", "backward ms", "kernel"}};
  for (const LayerTimes& l : b.layers)
    rows.push_back({l.layer, fmt::format("{:.4g}", l.forward * 1e3),
                    fmt::format("{:.4g}", l.backward * 1e3), l.kernel});
  rows.push_back({"update", fmt::format("{:.4g}", b.update * 1e3), "", config.optimizer.name});
  fmt::print("{}, batch {}, {}, {}\n\n{}\n{}", config.name, held.rows, b.steps.device,
             held.provenance, table(rows), text_of(b.steps));
  fmt::print(
      "{:.0f}% of the sgemm peak ({:.1f} GFLOP/s) in dense-equivalent flops ({} per sample)\n",
      b.share_of_peak() * 100, b.sgemm_peak / 1e9, short_count(b.flops));
}

// What computing takes on the nodes of the cluster.
Predictor predictor_of(const Options& options, const RunConfig& config,
                       const std::string& profile) {
  return make_predictor(
      config, {.profile_file = profile},
      options.ranks.cluster.empty() ? this_machine_cluster : options.ranks.cluster,
      {.loading = false}, say_to_stderr);
}

// Measures what emulated computing takes, before ranks start: they would disturb each other.
void measure_what_is_emulated(const Options& options, RunConfig config) {
  Predictor predictor = predictor_of(options, config, "");
  if (options.ranks.ranks > 0) config.parallel.ranks = options.ranks.ranks;
  const int64_t ranks = options.ranks.cluster.empty() || options.ranks.ranks > 0
                            ? config.parallel.ranks
                            : predictor.cluster.slots();
  predictor.learn_costs(place_point(config, predictor.cluster, ranks, 0, true));
}

// One rank of the benchmark.
void bench_rank(const Options& options, const RunConfig& config, const HeldBatches& held,
                Communicator& ranks) {
  const std::string affinity_map = bind_rank(config, ranks);
  std::unique_ptr<Device> device;
  std::optional<EmulatedCompute> emulated;
  if (options.emulate) {
    const Predictor predictor = predictor_of(options, config, profile_path().string());
    emulated.emplace(predictor, place_point(config, predictor.cluster, ranks.size(), 0, true),
                     ranks.rank());
  } else {
    device = make_device(config.device);
  }
  if (const auto result = run_rank_benchmark(config, held, options.seconds, ranks,
                                             emulated ? emulated->device() : *device))
    print(*result, affinity_map, config, held, ranks, options);
}

void bench(const Options& options) {
  RunConfig config = find_config(options.config, options.changes);
  if (options.batch > 0) config.train.batch = options.batch;
  if (options.threads > 0) config.device.threads = options.threads;
  if (options.emulate && !options.input.empty())
    throw UserError("--emulate-compute takes times measured on the data; leave out --input");
  if (options.emulate && mpi_job_size() == 0) measure_what_is_emulated(options, config);
  apply(options.ranks, config);
  const auto held_batches = [&] {
    if (!options.input.empty()) return noise_batches(config, parse_shape(options.input));
    const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed));
    const int64_t training =
        training_ranks(config.parallel, static_cast<int>(config.parallel.ranks));
    const int64_t all = rows_per_step(config, data.train->size(), training);
    return real_batches(config, data, (all + training - 1) / training);
  };
  if (config.parallel.ranks > 1) {
    run_ranks(config,
              [&](Communicator& ranks) { bench_rank(options, config, held_batches(), ranks); });
    return;
  }
  if (options.emulate)
    throw UserError("--emulate-compute needs several ranks: --ranks N, or --cluster NAME");
  const HeldBatches held = held_batches();
  print(run_benchmark(config, held, options.seconds), config, held, options.json);
}

}  // namespace

void add_bench_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("bench", R"(Measure steady training throughput, without I/O.

Examples:
  lockstep bench cnn-690k
  lockstep bench cnn-690k --batch 128 --threads 1 --json
  lockstep bench cnn-690k --ranks 2 --backend mpi --json
  lockstep bench mlp-1 --cluster my-cluster --emulate-compute   more ranks than cores
)");
  verb->add_option("config", options->config, "a preset or a TOML file")->required();
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--input", options->input,
                   "train on noise of this shape instead of the data, e.g. 32x32x3");
  verb->add_option("--batch", options->batch, "samples per step")->check(CLI::Range(1, 1 << 24));
  verb->add_option("--threads", options->threads, "threads per rank")->check(CLI::Range(1, 1024));
  verb->add_option("--seconds", options->seconds, "how long to measure")
      ->check(CLI::Range(0.1, 3600.0));
  add_rank_options(*verb, options->ranks);
  verb->add_flag("--emulate-compute", options->emulate,
                 "ranks sleep for the predicted time of computing; messages are real");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { bench(*options); });
}

}  // namespace lockstep
