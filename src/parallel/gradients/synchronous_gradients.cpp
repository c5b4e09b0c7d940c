#include "parallel/gradients/synchronous_gradients.h"

#include <utility>

#include "base/error.h"

namespace lockstep {

void SynchronousGradients::prepare(Worker& worker) {
  exchanged_.emplace(worker.groups.data, worker.parameters, config_, optimizer_);
  const auto floats = static_cast<int64_t>(config_.bucket_mb * (1 << 20) / sizeof(float));
  buckets_ = std::make_unique<GradientBuckets>(
      worker.parameters, config_.overlap ? floats : INT64_MAX,
      [this](std::span<float> part) { return exchanged_->all_reduce(part); }, worker.clock);
}

void SynchronousGradients::compute(Worker& worker, BatchSource& source, int64_t step,
                                   StepResult& result) {
  const bool alone = worker.groups.data.size() == 1;
  const StepShare& share = source.share(step);
  shard_losses_.clear();
  if (config_.mode == Mode::reproducible) {
    compute_by_tree(worker, source, share, result);
  } else {
    worker.gradients(source, share.mine, share.all, false, result,
                     exchange_ == Exchange::all_reduce && !alone ? buckets_.get() : nullptr);
    shard_losses_ = {result.loss};
  }
  result.times.compute = result.gradient_seconds;
  if (!alone) exchange(worker, result);
}

void SynchronousGradients::exchange(Worker& worker, StepResult& result) {
  const double before = worker.clock.seconds();
  const HostMirror& mirror = worker.parameters.gradients_on_host();
  const std::span<float> tail = mirror.floats().last(Parameters::tail_floats);
  if (exchange_ == Exchange::all_reduce) {
    if (config_.mode == Mode::reproducible) buckets_->arm(StepTail::of(result));
    const GradientBuckets::Times times = buckets_->finish();
    result.times.compute -= times.held_up;
    result.times.hidden += times.hidden;
    result.times.exposed += times.exposed;
    result.times.waiting += times.waiting;
    const double start = worker.clock.seconds();
    worker.reduce_touched([&](std::span<float> part) { return exchanged_->all_reduce(part); });
    result.times.exposed += worker.clock.seconds() - start;
  } else {
    StepTail::of(result).write(tail);
    const double start = worker.clock.seconds();
    const size_t first = worker.parameters.dense_begin();
    const size_t floats = worker.parameters.gradients().size() - first;
    mirror.download(first, floats);
    const std::span<float> dense = mirror.floats().subspan(first);
    const double waiting = exchanged_->reduce_and_broadcast(dense);
    mirror.upload(first, floats);
    worker.reduce_touched([&](std::span<float> part) {
      exchanged_->reduce_and_broadcast(part);
      return Request();
    });
    result.times.waiting += waiting;
    result.times.exposed += worker.clock.seconds() - start - waiting;
  }
  worker.note("communication", before);
  StepTail::read(tail).put_into(result);
}

// Computes the gradients of each shard separately and adds them as a binary tree: the same
// additions in the same order, whichever ranks hold the shards.
void SynchronousGradients::compute_by_tree(Worker& worker, BatchSource& source,
                                           const StepShare& share, StepResult& result) {
  const std::span<float> gradients = worker.parameters.gradients();
  std::vector<int32_t> touched;  // rows touched by any shard so far
  size_t waiting = 0;            // partial sums without their neighbour: one per set bit of `shard`
  for (size_t shard = 0; shard < share.shards.size(); ++shard) {
    const double before = std::exchange(result.loss, 0);
    worker.gradients(source, share.shards[shard], share.all, false, result);
    shard_losses_.push_back(result.loss);
    result.loss += before;
    const double start = worker.clock.seconds();
    if (TouchedRows* rows = worker.parameters.touched()) {
      touched.insert(touched.end(), rows->list().begin(), rows->list().end());
      rows->add(touched);  // the sums added below are not 0 there
    }
    for (size_t done = shard; done & 1; done >>= 1) {
      worker.device.add(gradients, sums_[--waiting].floats());
    }
    if (shard + 1 < share.shards.size()) {
      if (waiting == sums_.size()) sums_.push_back(worker.device.allocate(gradients.size_bytes()));
      const std::span<float> kept = sums_[waiting++].floats();
      worker.device.copy(gradients, kept);
    }
    result.gradient_seconds += worker.clock.seconds() - start;
  }
  ENSURE(waiting == 0);
}

}  // namespace lockstep
