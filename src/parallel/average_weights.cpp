#include "parallel/strategies.h"

namespace lockstep {
namespace {

// Every rank trains alone on its part; now and then all take the mean of their weights, each
// counted by the samples it has seen since the last time.
class AverageWeights final : public Strategy {
 public:
  explicit AverageWeights(const ParallelConfig& config) : config_(config) {}

  void train_epoch(Worker& worker, BatchSource& source, StepHandler& handler,
                   int64_t first) override {
    bool stop = false, ended = false;
    for (int64_t step = first; step < source.steps() && !stop; ++step) {
      StepResult result{.step = step + 1};
      const StepShare& share = source.share(step);
      if (share.mine > 0) {
        worker.gradients(source, share.mine, share.mine, false, result);
        result.times.compute = result.gradient_seconds;
        worker.update(handler, result);
        seen_ += share.mine;
        agree_ = worker.ranks.size() == 1 ? 1 : 0;
      }
      if (config_.average == "steps") {
        // Ranks stop together, where they meet anyway.
        if ((step + 1) % config_.average_steps == 0 || step + 1 == source.steps())
          stop = average(worker, handler.asked_to_stop(), result.times);
      } else {
        stop = handler.asked_to_stop();
        ended = stop || step + 1 == source.steps();
        if (ended) stop = end_epoch(worker, stop, result.times);
      }
      handler.step_done(result);
    }
    StepTimes unseen;  // resumed where all steps are done: only the end is left
    if (config_.average != "steps" && !ended) stop = end_epoch(worker, stop, unseen);
    if (stop) handler.stopping();
  }

  void finish(Worker& worker) override {
    StepTimes times;
    if (config_.average == "end") average(worker, false, times);
  }

  bool results_are_global() const override { return false; }
  bool replicas_agree() const override { return agree_ == 1; }
  std::vector<std::pair<std::string, int64_t*>> counters() override {
    return {{"samples_since_mean", &seen_}, {"replicas_agree", &agree_}};
  }

 private:
  // Some ranks may have stopped within the epoch while others came to its end. Then nobody
  // averages: each goes on from where it is when the run is resumed.
  bool end_epoch(Worker& worker, bool stop, StepTimes& times) {
    for (const int other : gather_all(worker.ranks, stop ? 1 : 0)) stop = stop || other == 1;
    if (!stop && config_.average == "epoch") average(worker, false, times);
    return stop;
  }

  // Whether any rank was asked to stop.
  bool average(Worker& worker, bool stop, StepTimes& times) {
    struct Mine {
      int64_t samples;
      bool stop;
    };
    const double start = worker.clock.seconds();
    bool any = false;
    int64_t all = 0;
    for (const Mine& m : gather_all(worker.ranks, Mine{seen_, stop})) {
      all += m.samples;
      any = any || m.stop;
    }
    const double met = worker.clock.seconds();
    if (all > 0) {
      const float weight = static_cast<float>(seen_) / static_cast<float>(all);
      mean(worker, worker.parameters.weights(), weight);
      mean(worker, worker.parameters.state(), weight);
      seen_ = 0;
    }
    agree_ = 1;
    worker.note("average weights", start);
    times.waiting += met - start;
    times.exposed += worker.clock.seconds() - met;
    return any;
  }

  static void mean(Worker& worker, std::span<float> values, float weight) {
    if (worker.ranks.size() == 1) return;
    worker.device.scale(values, weight);
    worker.ranks.all_reduce(values, values).wait();
  }

  ParallelConfig config_;
  int64_t seen_ = 0;  // samples since the last mean
  int64_t agree_ = 1;
};

}  // namespace

std::unique_ptr<Strategy> make_average_weights(const ParallelConfig& config,
                                               const OptimizerConfig&) {
  return std::make_unique<AverageWeights>(config);
}

}  // namespace lockstep
