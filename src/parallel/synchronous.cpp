#include "parallel/strategies.h"

#include "base/buffer.h"
#include "base/error.h"

namespace lockstep {
namespace {

enum class Exchange { all_reduce, reduce_broadcast };

// Gradients are averaged each step; all ranks then make the same step.
class Synchronous final : public Strategy {
 public:
  Synchronous(Exchange exchange, const ParallelConfig& config)
      : exchange_(exchange), config_(config) {}

  int training_ranks(int ranks) const override {
    if (config_.mode == "reproducible" && config_.shards % ranks != 0)
      throw UserError(
          "parallel.mode = \"reproducible\" cuts a batch into parallel.shards = {} pieces, which "
          "{} "
          "ranks cannot share evenly; use 1, 2, 4 or 8 ranks, or other shards",
          config_.shards, ranks);
    return ranks;
  }

  void train_epoch(Worker& worker, BatchSource& source, StepHandler& handler,
                   int64_t first) override {
    const auto floats = static_cast<int64_t>(config_.bucket_mb * (1 << 20) / sizeof(float));
    GradientBuckets buckets(
        worker.parameters, config_.overlap ? floats : INT64_MAX,
        [&](std::span<float> part) { return worker.ranks.all_reduce(part, part); }, worker.clock);
    const bool alone = worker.ranks.size() == 1;
    // The wish to stop travels with a step's gradients; alone, it need not travel.
    const auto stops_alone = [&] { return alone && handler.asked_to_stop(); };
    bool stop = stops_alone();
    for (int64_t step = first; step < source.steps() && !stop; ++step) {
      StepResult result{.step = step + 1, .stop = handler.asked_to_stop()};
      const StepShare& share = source.share(step);
      if (config_.mode == "reproducible")
        gradients_by_tree(worker, source, share, result);
      else
        worker.gradients(source, share.mine, share.all, false, result,
                         exchange_ == Exchange::all_reduce && !alone ? &buckets : nullptr);
      result.times.compute = result.gradient_seconds;
      if (!alone) exchange(worker, buckets, result);
      worker.update(handler, result);
      handler.step_done(result);
      stop = result.stop || stops_alone();
    }
    if (stop) handler.stopping();
  }

 private:
  void exchange(Worker& worker, GradientBuckets& buckets, StepResult& result) {
    const double before = worker.clock.seconds();
    const std::span<float> all = worker.parameters.gradients_and_tail();
    const std::span<float> tail = all.last(Parameters::tail_floats);
    if (exchange_ == Exchange::all_reduce) {
      if (config_.mode == "reproducible") buckets.arm(StepTail::of(result));
      const GradientBuckets::Times times = buckets.finish();
      result.times.compute -= times.held_up;
      result.times.hidden = times.hidden;
      result.times.exposed = times.exposed;
      result.times.waiting = times.waiting;
      const double start = worker.clock.seconds();
      worker.reduce_touched(
          [&](std::span<float> part) { return worker.ranks.all_reduce(part, part); });
      result.times.exposed += worker.clock.seconds() - start;
    } else {
      StepTail::of(result).write(tail);
      const double start = worker.clock.seconds();
      const std::span<float> dense = all.subspan(worker.parameters.dense_begin());
      const double waiting = worker.ranks.reduce(dense, dense, 0).wait().waiting;
      worker.ranks.broadcast(bytes_of(dense), 0).wait();
      worker.reduce_touched([&](std::span<float> part) {
        worker.ranks.reduce(part, part, 0).wait();
        return worker.ranks.broadcast(bytes_of(part), 0);
      });
      result.times.waiting = waiting;
      result.times.exposed = worker.clock.seconds() - start - waiting;
    }
    worker.note("communication", before);
    StepTail::read(tail).put_into(result);
  }

  // The gradients of each shard apart, then summed neighbours first: the same additions in the
  // same order, whichever ranks hold the shards.
  void gradients_by_tree(Worker& worker, BatchSource& source, const StepShare& share,
                         StepResult& result) {
    const std::span<float> gradients = worker.parameters.gradients();
    std::vector<int32_t> touched;  // by any shard
    size_t waiting = 0;  // sums that wait for their neighbour, one a set bit of the shards done
    for (size_t shard = 0; shard < share.shards.size(); ++shard) {
      worker.gradients(source, share.shards[shard], share.all, false, result);
      const double start = worker.clock.seconds();
      if (TouchedRows* rows = worker.parameters.touched()) {
        touched.insert(touched.end(), rows->list().begin(), rows->list().end());
        rows->add(touched);  // the sums below reach them
      }
      for (size_t done = shard; done & 1; done >>= 1) {
        worker.device.add(gradients, sums_[--waiting].floats());
      }
      if (shard + 1 < share.shards.size()) {
        if (waiting == sums_.size()) sums_.emplace_back(gradients.size_bytes());
        const std::span<float> kept = sums_[waiting++].floats();
        worker.device.copy(gradients, kept);
      }
      result.gradient_seconds += worker.clock.seconds() - start;
    }
    ENSURE(waiting == 0);
  }

  Exchange exchange_;
  ParallelConfig config_;
  std::vector<Buffer> sums_;
};

}  // namespace

std::unique_ptr<Strategy> make_all_reduce(const ParallelConfig& config, const OptimizerConfig&) {
  return std::make_unique<Synchronous>(Exchange::all_reduce, config);
}

std::unique_ptr<Strategy> make_reduce_broadcast(const ParallelConfig& config,
                                                const OptimizerConfig&) {
  return std::make_unique<Synchronous>(Exchange::reduce_broadcast, config);
}

}  // namespace lockstep
