#include "job/benchmark.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/clock.h"
#include "base/statistics.h"
#include "comm/backend/self.h"
#include "tensor/peak.h"
#include "train/probe/step_probe.h"
#include "train/shares.h"

namespace lockstep {
namespace {

// Collects times per top-level layer and direction; layers inside a block count towards the block.
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

}  // namespace

double BenchmarkSteps::typical() const { return median(seconds); }
double BenchmarkSteps::best() const { return *std::ranges::min_element(seconds); }

Benchmark run_benchmark(RunConfig config, const HeldBatches& held, double seconds) {
  const WallClock clock;
  const std::unique_ptr<Device> device = make_device(config.device);
  const std::unique_ptr<Communicator> self = make_self_communicator();
  config.parallel = {};
  StepProbe probe(config, held, held.rows, *self, *device, clock);
  probe.initialise();
  const Sequence& sequence = probe.sequence();
  Stopwatch watch(clock, sequence);
  const auto watch_step = [&] {  // not counted as a step: listening takes time
    probe.listen(&watch);
    probe.before_micro_batch([&](int64_t) { watch.restart(); });
    probe.run(1);
    watch.lap("update");
    probe.listen(nullptr);
    probe.before_micro_batch(nullptr);
  };
  probe.run(5);
  const double first = std::max(probe.step_seconds().back(), 1e-7);
  const auto between = std::clamp(static_cast<int64_t>(0.01 / first), int64_t{4}, int64_t{1000});
  Benchmark result{.steps = {.device = device->description(), .samples = held.rows, .seconds = {}}};
  std::vector<double>& steps = result.steps.seconds;
  const double began = clock.seconds();
  while (clock.seconds() - began < seconds || steps.size() < 10) {
    watch_step();
    probe.run(between);
    steps.insert(steps.end(), probe.step_seconds().begin(), probe.step_seconds().end());
  }
  for (const Sequence::Step& s : sequence.steps()) {
    result.layers.push_back({.layer = s.name,
                             .kernel = s.kernel->name(),
                             .forward = watch.middle("forward " + s.name),
                             .backward = watch.middle("backward " + s.name)});
    // Forward pass, weight gradients and input gradients cost the same; the first layer with
    // weights needs no input gradients.
    result.flops += s.flops * (s.weights_below ? 3 : 2);
  }
  result.update = watch.middle("update");
  result.sgemm_peak = sgemm_peak(config.device.threads, clock);
  return result;
}

std::optional<RankBenchmark> run_rank_benchmark(const RunConfig& config, const HeldBatches& held,
                                                double seconds, Communicator& ranks,
                                                Device& device) {
  const WallClock clock;
  RankBenchmark result;
  const int training = training_replicas(config.parallel, ranks.size());
  const int64_t all = rows_per_step(config, held.samples, training);
  StepProbe probe(config, held, all, ranks, device, clock);
  probe.initialise();

  probe.run(5);
  double step = probe.step_seconds().empty() ? 0 : probe.step_seconds().back();
  for (const double other : gather_all(ranks, step)) step = std::max(step, other);
  const int64_t count = std::max<int64_t>(10, static_cast<int64_t>(seconds / std::max(step, 1e-6)));
  ranks.barrier().wait();
  probe.run(count);

  const std::vector<RankTimes> times = gather_times(ranks, probe.times(), config.device.threads);
  if (ranks.rank() != 0) return std::nullopt;
  result.figures =
      summarise(times, training * probe.stages(), count,
                bytes_per_step(probe.parameters(), probe.traits().sends_whole_arrays),
                probe.share().all, config.parallel.strategy, probe.stages(), probe.bubble());
  const int64_t batches_per_step = probe.traits().one_update_per_epoch ? count : 1;
  result.steps = {.device = device.description(),
                  .samples = all * batches_per_step,
                  .seconds = probe.step_seconds()};
  result.batch_per_rank = (all + training - 1) / training;
  result.global_batch = all;
  return result;
}

}  // namespace lockstep
