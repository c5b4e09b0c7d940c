#include <optional>

#include "parallel/gradients/norm_penalty.h"
#include "parallel/gradients/synchronous_gradients.h"
#include "parallel/lbfgs/lbfgs_all_reduce.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

// Gradients are averaged each step; all ranks then make the same update.
class Synchronous final : public Strategy {
 public:
  Synchronous(Exchange exchange, const ParallelConfig& config, const OptimizerConfig& optimizer)
      : gradients_(exchange, config, optimizer) {
    if (optimizer.norm_penalty > 0)
      penalty_.emplace(optimizer.norm_penalty, optimizer.norm_penalty_radius);
  }

  void prepare(Worker& worker) override {
    gradients_.prepare(worker);
    if (penalty_) penalty_->prepare(worker);
  }
  std::vector<std::span<float>> arrays() override { return gradients_.arrays(); }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    StepResult result = begin_step(plan);
    gradients_.compute(worker, source, plan.step, result);
    if (penalty_) penalty_->add(worker, source, plan.step, gradients_, result);
    worker.update(result);
    return result;
  }

 private:
  SynchronousGradients gradients_;
  std::optional<NormPenalty> penalty_;
};

}  // namespace

StrategyEntry all_reduce_entry() {
  return {"all-reduce", "gradients averaged each step, in buckets, during the backward pass",
          [](const ParallelConfig&) {
            return StrategyTraits{.reproducible = true,
                                  .reduces_in_buckets = true,
                                  .compresses = true,
                                  .penalizes_norms = true,
                                  .splits_networks = true,
                                  .searches_lines = true};
          },
          [](const ParallelConfig& config,
             const OptimizerConfig& optimizer) -> std::unique_ptr<Strategy> {
            if (is_lbfgs(optimizer)) return make_lbfgs_all_reduce(config, optimizer);
            return std::make_unique<Synchronous>(Exchange::all_reduce, config, optimizer);
          }};
}

StrategyEntry reduce_broadcast_entry() {
  return {"reduce-broadcast", "gradients summed on rank 0 each step and sent back to all",
          [](const ParallelConfig&) {
            return StrategyTraits{
                .compresses = true, .penalizes_norms = true, .splits_networks = true};
          },
          [](const ParallelConfig& config,
             const OptimizerConfig& optimizer) -> std::unique_ptr<Strategy> {
            return std::make_unique<Synchronous>(Exchange::reduce_broadcast, config, optimizer);
          }};
}

}  // namespace lockstep
