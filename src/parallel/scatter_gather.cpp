#include "base/buffer.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

// The published Fashion-MNIST setup: rank 0 sends the weights to all, all send their gradients to
// rank 0, which alone updates the weights. (Rank 0 deals out the samples beforehand.)
class ScatterGather final : public Strategy {
 public:
  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    Communicator& ranks = worker.groups.data;
    const bool root = ranks.rank() == 0;
    const std::span<float> mine = worker.parameters.gradients_and_tail();
    const std::span<float> tail = mine.last(Parameters::tail_floats);
    const auto size = static_cast<size_t>(ranks.size());
    const std::vector<int64_t> counts(size, static_cast<int64_t>(mine.size_bytes()));
    if (root && all_.bytes() == 0) all_ = Buffer(size * mine.size_bytes());
    StepResult result = begin_step(plan);
    const StepShare& share = source.share(plan.step);
    exchange(worker, result, [&] { return ranks.broadcast(bytes_of(worker.weights()), 0); });
    worker.gradients(source, share.mine, share.all, false, result);
    result.times.compute = result.gradient_seconds;
    StepTail::of(result).write(tail);
    exchange(worker, result,
             [&] { return ranks.gather(std::as_bytes(mine), bytes_of(all_.floats()), counts, 0); });
    if (root) {
      const double start = worker.clock.seconds();
      for (size_t r = 1; r < size; ++r)
        worker.device.add(mine, all_.floats().subspan(r * mine.size(), mine.size()));
      result.times.compute += worker.clock.seconds() - start;
    }
    exchange(worker, result, [&] { return ranks.broadcast(bytes_of(tail), 0); });
    if (size > 1) StepTail::read(tail).put_into(result);
    worker.share_touched();
    if (root) worker.update(result);
    return result;
  }

  bool end_epoch(Worker& worker, bool stopping, StepTimes&) override {
    worker.groups.data.broadcast(bytes_of(worker.weights()), 0).wait();
    return stopping;
  }

 private:
  template <typename Start>
  static void exchange(Worker& worker, StepResult& result, const Start& start) {
    const double before = worker.clock.seconds();
    const double waiting = start().wait().waiting;
    worker.note("communication", before);
    result.times.waiting += waiting;
    result.times.exposed += worker.clock.seconds() - before - waiting;
  }

  Buffer all_;  // rank 0: the gradients of every rank
};

}  // namespace

StrategyEntry scatter_gather_entry() {
  return {"scatter-gather", "rank 0 scatters samples, sends weights, gathers gradients",
          [](const ParallelConfig&) {
            return StrategyTraits{.root_deals_samples = true, .sends_whole_arrays = true};
          },
          [](const ParallelConfig&, const OptimizerConfig&) -> std::unique_ptr<Strategy> {
            return std::make_unique<ScatterGather>();
          }};
}

}  // namespace lockstep
