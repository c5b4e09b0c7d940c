#include <algorithm>
#include <optional>

#include "os/buffer.h"
#include "parallel/gradients/gradient_exchange.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

// Every rank trains alone on its part; at intervals all ranks average their weights, each weighted
// by the number of samples it has seen since the last average.
class AverageWeights final : public Strategy {
 public:
  explicit AverageWeights(const ParallelConfig& config) : config_(config) {}

  void prepare(Worker& worker) override {
    if (config_.compress == Compression::none) return;
    const HostMirror& weights = worker.parameters.weights_on_host();
    change_ = Buffer(weights.size() * sizeof(float));
    last_mean_ = Buffer(change_.bytes());
    if (worker.groups.data.carries(change_.bytes()))
      std::ranges::copy(weights.download(), last_mean_.floats().begin());
    exchange_.emplace(worker.groups.data, change_.floats(), config_);
  }
  std::vector<std::span<float>> arrays() override {
    if (!exchange_) return {};
    std::vector<std::span<float>> all = exchange_->arrays();
    all.push_back(last_mean_.floats());
    return all;
  }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    StepResult result = begin_step(plan);
    const StepShare& share = source.share(plan.step);
    if (share.mine > 0) {
      worker.gradients(source, share.mine, share.mine, false, result);
      result.times.compute = result.gradient_seconds;
      worker.update(result);
      seen_ += share.mine;
      agree_ = worker.groups.data.size() == 1 ? 1 : 0;
    }
    if (config_.average != Averaging::steps) return result;
    // Ranks stop together, when they average.
    const int64_t done = plan.step + 1;
    const bool meets = done % config_.average_steps == 0 || done == source.steps();
    result.stop = meets && average(worker, plan.asked_to_stop, result.times);
    return result;
  }

  // If some rank stopped within the epoch, no rank averages: each continues from its own position
  // when the run is resumed.
  bool end_epoch(Worker& worker, bool stopping, StepTimes& times) override {
    if (config_.average == Averaging::steps) return stopping;
    for (const int other : gather_all(worker.groups.data, stopping ? 1 : 0))
      stopping = stopping || other == 1;
    if (!stopping && config_.average == Averaging::epoch) average(worker, false, times);
    return stopping;
  }

  void finish(Worker& worker) override {
    StepTimes times;
    if (config_.average == Averaging::end) average(worker, false, times);
  }

  bool replicas_agree() const override { return agree_ == 1; }
  std::vector<std::pair<std::string, int64_t*>> counters() override {
    return {{"samples_since_mean", &seen_}, {"replicas_agree", &agree_}};
  }

 private:
  // Returns whether any rank was asked to stop.
  bool average(Worker& worker, bool stop, StepTimes& times) {
    struct Mine {
      int64_t samples;
      bool stop;
    };
    const double start = worker.clock.seconds();
    bool any = false;
    int64_t all = 0;
    for (const Mine& m : gather_all(worker.groups.data, Mine{seen_, stop})) {
      all += m.samples;
      any = any || m.stop;
    }
    const double met = worker.clock.seconds();
    if (all > 0) {
      const float weight = static_cast<float>(seen_) / static_cast<float>(all);
      if (exchange_)
        mean_of_changes(worker, weight);
      else
        mean(worker, worker.parameters.weights(), worker.parameters.weights_on_host(), weight);
      mean(worker, worker.parameters.state(), worker.parameters.state_on_host(), weight);
      seen_ = 0;
    }
    agree_ = 1;
    worker.note("average weights", start);
    times.waiting += met - start;
    times.exposed += worker.clock.seconds() - met;
    return any;
  }

  static void mean(Worker& worker, std::span<float> values, const HostMirror& mirror,
                   float weight) {
    if (worker.groups.data.size() == 1) return;
    worker.device.scale(values, weight);
    const std::span<float> host = mirror.download();
    worker.groups.data.all_reduce(host, host).wait();
    mirror.upload();
  }

  // Compressed: how much the weights have changed since the last mean, which all ranks know.
  void mean_of_changes(Worker& worker, float weight) {
    Communicator& ranks = worker.groups.data;
    if (ranks.size() == 1) return;
    const HostMirror& weights = worker.parameters.weights_on_host();
    const std::span<float> mine = weights.download();
    const std::span<float> change = change_.floats(), mean = last_mean_.floats();
    const bool computes = ranks.carries(mine.size_bytes());
    for (size_t i = 0; computes && i < mine.size(); ++i) change[i] = (mine[i] - mean[i]) * weight;
    ranks.spend_pass(mine.size_bytes());
    exchange_->all_reduce(change).wait();
    for (size_t i = 0; computes && i < mine.size(); ++i) mine[i] = mean[i] += change[i];
    ranks.spend_pass(mine.size_bytes());
    weights.upload();
  }

  ParallelConfig config_;
  std::optional<GradientExchange> exchange_;
  Buffer last_mean_, change_;
  int64_t seen_ = 0;  // samples since the last average
  int64_t agree_ = 1;
};

StrategyTraits traits(const ParallelConfig& config) {
  return {.global_results = false,
          .one_model = config.average == Averaging::steps || config.average == Averaging::epoch,
          .meets_each_step = false,
          .compresses = true,
          .averages_weights = true,
          .changes_learning = true,
          .splits_networks = true,
          .period = config.average == Averaging::steps ? config.average_steps : 1,
          .less_communication = "average less often (parallel.average, parallel.average_steps)"};
}

}  // namespace

StrategyEntry average_weights_entry() {
  return {"average-weights",
          "ranks train alone and average their weights at intervals",
          traits,
          [](const ParallelConfig& config, const OptimizerConfig&) -> std::unique_ptr<Strategy> {
            return std::make_unique<AverageWeights>(config);
          },
          {"parallel.average=steps", "parallel.average_steps=8"}};
}

}  // namespace lockstep
