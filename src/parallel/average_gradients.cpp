#include <optional>

#include "parallel/gradients/gradient_exchange.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

// Each rank sums the gradients of one pass over its part; one update per epoch.
class AverageGradientsPerEpoch final : public Strategy {
 public:
  AverageGradientsPerEpoch(const ParallelConfig& config, const OptimizerConfig& optimizer)
      : config_(config), optimizer_(optimizer) {}

  void prepare(Worker& worker) override {
    gradients_.emplace(worker.groups.data, worker.parameters, config_, optimizer_);
    buckets_ = std::make_unique<GradientBuckets>(
        worker.parameters, INT64_MAX,
        [this](std::span<float> part) { return gradients_->all_reduce(part); }, worker.clock);
  }

  std::vector<std::span<float>> arrays() override { return gradients_->arrays(); }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    int64_t mine = 0, all = 0;
    for (int64_t step = 0; step < source.steps(); ++step) {
      mine += source.share(step).mine;
      all += source.share(step).all;
    }
    StepResult result = begin_step(plan);
    worker.gradients(source, mine, all, false, result, buckets_.get());
    const double before = worker.clock.seconds();
    const GradientBuckets::Times times = buckets_->finish();
    result.times.compute = result.gradient_seconds - times.held_up;
    result.times.exposed = times.exposed;
    result.times.waiting = times.waiting;
    Communicator& ranks = worker.groups.data;
    if (ranks.size() > 1) buckets_->tail().put_into(result);
    const double start = worker.clock.seconds();
    worker.reduce_touched([&](std::span<float> part) { return gradients_->all_reduce(part); });
    if (ranks.size() > 1) result.times.exposed += worker.clock.seconds() - start;
    worker.note("communication", before);
    worker.update(result);
    return result;
  }

 private:
  ParallelConfig config_;
  OptimizerConfig optimizer_;
  std::optional<GradientExchange> gradients_;
  std::unique_ptr<GradientBuckets> buckets_;
};

}  // namespace

StrategyEntry average_gradients_entry() {
  return {"average-gradients-per-epoch", "one step per epoch, with the gradients of a whole pass",
          [](const ParallelConfig&) {
            return StrategyTraits{
                .one_update_per_epoch = true, .compresses = true, .changes_learning = true};
          },
          [](const ParallelConfig& config,
             const OptimizerConfig& optimizer) -> std::unique_ptr<Strategy> {
            return std::make_unique<AverageGradientsPerEpoch>(config, optimizer);
          }};
}

}  // namespace lockstep
