#include "parallel/strategies.h"

namespace lockstep {
namespace {

// Each rank adds up the gradients of one pass over its part; one step an epoch.
class AverageGradientsPerEpoch final : public Strategy {
 public:
  void train_epoch(Worker& worker, BatchSource& source, StepHandler& handler,
                   int64_t first) override {
    if (first > 0) return;  // the one step was made before the run was resumed
    int64_t mine = 0, all = 0;
    for (int64_t step = 0; step < source.steps(); ++step) {
      mine += source.share(step).mine;
      all += source.share(step).all;
    }
    StepResult result{.step = 1, .stop = handler.asked_to_stop()};
    GradientBuckets buckets(
        worker.parameters, INT64_MAX,
        [&](std::span<float> part) { return worker.ranks.all_reduce(part, part); }, worker.clock);
    worker.gradients(source, mine, all, false, result, &buckets);
    const double before = worker.clock.seconds();
    const GradientBuckets::Times times = buckets.finish();
    worker.note("communication", before);
    result.times.compute = result.gradient_seconds - times.held_up;
    result.times.exposed = times.exposed;
    result.times.waiting = times.waiting;
    if (worker.ranks.size() > 1) buckets.tail().put_into(result);
    worker.reduce_touched(
        [&](std::span<float> part) { return worker.ranks.all_reduce(part, part); });
    worker.update(handler, result);
    handler.step_done(result);
    if (result.stop) handler.stopping();
  }

  bool one_step_an_epoch() const override { return true; }
};

}  // namespace

std::unique_ptr<Strategy> make_average_gradients(const ParallelConfig&, const OptimizerConfig&) {
  return std::make_unique<AverageGradientsPerEpoch>();
}

}  // namespace lockstep
