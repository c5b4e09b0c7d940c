#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/memory.h"
#include "base/statistics.h"
#include "base/undisturbed.h"
#include "bench_ranks.h"
#include "comm/backend/self.h"
#include "job/ranks.h"
#include "nn/program.h"
#include "rank_options.h"
#include "tensor/peak.h"
#include "text.h"
#include "train/held_batches.h"
#include "train/presets.h"
#include "train/shares.h"
#include "train/step_probe.h"
#include "verbs.h"

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
  bool json = false;
};

// Adds up the time of each layer and direction; what layers consist of counts with them.
class Stopwatch final : public PassListener {
 public:
  Stopwatch(const Clock& clock, const Sequence& sequence) : clock_(clock) {
    for (const Sequence::Step& step : sequence.steps()) layers_.insert(step.name);
  }
  void restart() { last_ = clock_.seconds(); }
  void lap(const std::string& what) {
    const double now = clock_.seconds();
    samples_[what].push_back(now - last_);
    last_ = now;
  }
  void layer_done(const std::string& layer, bool backward, std::span<float>) override {
    if (layers_.contains(layer)) lap((backward ? "backward " : "forward ") + layer);
  }
  double middle(const std::string& what) const {
    const auto found = samples_.find(what);
    return found == samples_.end() ? 0 : median(found->second);
  }

 private:
  const Clock& clock_;
  double last_ = 0;
  std::set<std::string> layers_;
  std::map<std::string, std::vector<double>> samples_;
};

void bench(const Options& options) {
  RunConfig config = find_config(options.config, options.changes);
  if (options.batch > 0) config.train.batch = options.batch;
  if (options.threads > 0) config.device.threads = options.threads;
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
    run_ranks(config, [&](Communicator& ranks) {
      bench_rank(config, held_batches(), options.seconds, options.json, ranks);
    });
    return;
  }
  const WallClock clock;
  const HeldBatches held = held_batches();
  const int64_t batch = held.rows;
  const std::unique_ptr<Device> device = make_device(config.device);
  const std::unique_ptr<Communicator> self = make_self_communicator();
  config.parallel = {};
  StepProbe probe(config, held, batch, *self, *device, clock);
  probe.initialise();
  const Sequence& sequence = probe.program().sequence();
  Stopwatch watch(clock, sequence);
  const auto watch_step = [&] {  // which takes time itself
    probe.program().listen(&watch);
    probe.before_micro_batch([&](int64_t) { watch.restart(); });
    probe.run(1);
    watch.lap("update");
    probe.program().listen(nullptr);
    probe.before_micro_batch(nullptr);
  };
  probe.run(5);
  const double first = std::max(probe.step_seconds().back(), 1e-7);
  const auto between = std::clamp(static_cast<int64_t>(0.01 / first), int64_t{4}, int64_t{1000});
  std::vector<double> steps;  // seconds each
  const double began = clock.seconds();
  while (clock.seconds() - began < options.seconds || steps.size() < 10) {
    watch_step();
    probe.run(between);
    steps.insert(steps.end(), probe.step_seconds().begin(), probe.step_seconds().end());
  }

  const double step = median(steps), best = *std::ranges::min_element(steps);
  const double rate = static_cast<double>(batch) / step;
  // Dense-equivalent work: forward, and as much again for the gradients of weights and of inputs
  // (which the first layer with weights does not need).
  double flops = 0;
  for (const Sequence::Step& s : sequence.steps()) flops += s.flops * (s.weights_below ? 3 : 2);
  const double peak = sgemm_peak(config.device.threads, clock);
  const double share = flops * rate / peak;

  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  std::vector<std::vector<std::string>> rows = {{"layer", "forward ms", "backward ms", "kernel"}};
  for (const Sequence::Step& s : sequence.steps()) {
    const double forward = watch.middle("forward " + s.name) * 1e3;
    const double backward = watch.middle("backward " + s.name) * 1e3;
    rows.push_back({s.name, fmt::format("{:.4g}", forward), fmt::format("{:.4g}", backward),
                    s.kernel->name()});
    layers.push_back({{"layer", s.name},
                      {"forward_ms", forward},
                      {"backward_ms", backward},
                      {"kernel", s.kernel->name()}});
  }
  rows.push_back(
      {"update", fmt::format("{:.4g}", watch.middle("update") * 1e3), "", config.optimizer.name});
  if (options.json) {
    const nlohmann::ordered_json json{
        {"name", config.name},
        {"data", held.provenance},
        {"device", device->description()},
        {"batch", batch},
        {"threads", config.device.threads},
        {"steps", steps.size()},
        {"samples_per_second", rate},
        {"best_samples_per_second", static_cast<double>(batch) / best},
        {"step_ms", step * 1e3},
        {"undisturbed_step_ms", undisturbed(steps) * 1e3},
        {"best_step_ms", best * 1e3},
        {"update_ms", watch.middle("update") * 1e3},
        {"layers", layers},
        {"dense_equivalent_flops_per_sample", flops},
        {"sgemm_peak_flops", peak},
        {"share_of_sgemm_peak", share},
        {"peak_memory_bytes", peak_memory_bytes()}};
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("{}, batch {}, {}, {}\n\n{}\n", config.name, batch, device->description(),
             held.provenance, table(rows));
  fmt::print("{} samples/s (median of {} steps, {:.4g} ms each; undisturbed {:.4g} ms; best {})\n",
             with_commas(static_cast<int64_t>(rate)), steps.size(), step * 1e3,
             undisturbed(steps) * 1e3,
             with_commas(static_cast<int64_t>(static_cast<double>(batch) / best)));
  fmt::print(
      "{:.0f}% of the sgemm peak ({:.1f} GFLOP/s) in dense-equivalent flops ({} per sample)\n",
      share * 100, peak / 1e9, short_count(flops));
}

}  // namespace

void add_bench_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("bench", R"(Measure steady training throughput, without I/O.

Examples:
  lockstep bench cnn-690k
  lockstep bench cnn-690k --batch 128 --threads 1 --json
  lockstep bench cnn-690k --ranks 2 --backend mpi --json
)");
  verb->add_option("config", options->config, "a preset or a TOML file")->required();
  verb->add_option("--set", options->changes, "change a key of the configuration: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--input", options->input,
                   "train on noise of this shape instead of the data, e.g. 32x32x3");
  verb->add_option("--batch", options->batch, "samples per step")->check(CLI::Range(1, 1 << 24));
  verb->add_option("--threads", options->threads, "threads")->check(CLI::Range(1, 1024));
  verb->add_option("--seconds", options->seconds, "how long to measure")
      ->check(CLI::Range(0.1, 3600.0));
  add_rank_options(*verb, options->ranks);
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { bench(*options); });
}

}  // namespace lockstep
