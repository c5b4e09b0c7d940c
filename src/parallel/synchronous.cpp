#include <optional>

#include "base/error.h"
#include "parallel/gradient_exchange.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

enum class Exchange { all_reduce, reduce_broadcast };

// Gradients are averaged each step; all ranks then make the same update.
class Synchronous final : public Strategy {
 public:
  Synchronous(Exchange exchange, const ParallelConfig& config, const OptimizerConfig& optimizer)
      : exchange_(exchange), config_(config), optimizer_(optimizer) {}

  void prepare(Worker& worker) override {
    gradients_.emplace(worker.groups.data, worker.parameters, config_, optimizer_);
    const auto floats = static_cast<int64_t>(config_.bucket_mb * (1 << 20) / sizeof(float));
    buckets_ = std::make_unique<GradientBuckets>(
        worker.parameters, config_.overlap ? floats : INT64_MAX,
        [this](std::span<float> part) { return gradients_->all_reduce(part); }, worker.clock);
  }

  std::vector<std::span<float>> arrays() override { return gradients_->arrays(); }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    const bool alone = worker.groups.data.size() == 1;
    StepResult result = begin_step(plan);
    const StepShare& share = source.share(plan.step);
    if (config_.mode == Mode::reproducible)
      gradients_by_tree(worker, source, share, result);
    else
      worker.gradients(source, share.mine, share.all, false, result,
                       exchange_ == Exchange::all_reduce && !alone ? buckets_.get() : nullptr);
    result.times.compute = result.gradient_seconds;
    if (!alone) exchange(worker, result);
    worker.update(result);
    return result;
  }

 private:
  void exchange(Worker& worker, StepResult& result) {
    const double before = worker.clock.seconds();
    const HostMirror& mirror = worker.parameters.gradients_on_host();
    const std::span<float> tail = mirror.floats().last(Parameters::tail_floats);
    if (exchange_ == Exchange::all_reduce) {
      if (config_.mode == Mode::reproducible) buckets_->arm(StepTail::of(result));
      const GradientBuckets::Times times = buckets_->finish();
      result.times.compute -= times.held_up;
      result.times.hidden = times.hidden;
      result.times.exposed = times.exposed;
      result.times.waiting = times.waiting;
      const double start = worker.clock.seconds();
      worker.reduce_touched([&](std::span<float> part) { return gradients_->all_reduce(part); });
      result.times.exposed += worker.clock.seconds() - start;
    } else {
      StepTail::of(result).write(tail);
      const double start = worker.clock.seconds();
      const size_t first = worker.parameters.dense_begin();
      const size_t floats = worker.parameters.gradients().size() - first;
      mirror.download(first, floats);
      const std::span<float> dense = mirror.floats().subspan(first);
      const double waiting = gradients_->reduce_and_broadcast(dense);
      mirror.upload(first, floats);
      worker.reduce_touched([&](std::span<float> part) {
        gradients_->reduce_and_broadcast(part);
        return Request();
      });
      result.times.waiting = waiting;
      result.times.exposed = worker.clock.seconds() - start - waiting;
    }
    worker.note("communication", before);
    StepTail::read(tail).put_into(result);
  }

  // Computes the gradients of each shard separately and adds them as a binary tree: the same
  // additions in the same order, whichever ranks hold the shards.
  void gradients_by_tree(Worker& worker, BatchSource& source, const StepShare& share,
                         StepResult& result) {
    const std::span<float> gradients = worker.parameters.gradients();
    std::vector<int32_t> touched;  // rows touched by any shard so far
    size_t waiting = 0;  // partial sums without their neighbour: one per set bit of `shard`
    for (size_t shard = 0; shard < share.shards.size(); ++shard) {
      worker.gradients(source, share.shards[shard], share.all, false, result);
      const double start = worker.clock.seconds();
      if (TouchedRows* rows = worker.parameters.touched()) {
        touched.insert(touched.end(), rows->list().begin(), rows->list().end());
        rows->add(touched);  // the sums added below are not 0 there
      }
      for (size_t done = shard; done & 1; done >>= 1) {
        worker.device.add(gradients, sums_[--waiting].floats());
      }
      if (shard + 1 < share.shards.size()) {
        if (waiting == sums_.size())
          sums_.push_back(worker.device.allocate(gradients.size_bytes()));
        const std::span<float> kept = sums_[waiting++].floats();
        worker.device.copy(gradients, kept);
      }
      result.gradient_seconds += worker.clock.seconds() - start;
    }
    ENSURE(waiting == 0);
  }

  Exchange exchange_;
  ParallelConfig config_;
  OptimizerConfig optimizer_;
  std::optional<GradientExchange> gradients_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::vector<DeviceMemory> sums_;
};

template <Exchange exchange>
std::unique_ptr<Strategy> make(const ParallelConfig& config, const OptimizerConfig& optimizer) {
  return std::make_unique<Synchronous>(exchange, config, optimizer);
}

}  // namespace

StrategyEntry all_reduce_entry() {
  return {"all-reduce", "gradients averaged each step, in buckets, during the backward pass",
          [](const ParallelConfig&) {
            return StrategyTraits{
                .reproducible = true, .reduces_in_buckets = true, .compresses = true};
          },
          make<Exchange::all_reduce>};
}

StrategyEntry reduce_broadcast_entry() {
  return {"reduce-broadcast", "gradients summed on rank 0 each step and sent back to all",
          [](const ParallelConfig&) { return StrategyTraits{.compresses = true}; },
          make<Exchange::reduce_broadcast>};
}

}  // namespace lockstep
