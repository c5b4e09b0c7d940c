#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "parallel/gradients/gradient_buckets.h"
#include "parallel/gradients/gradient_exchange.h"
#include "parallel/worker.h"

namespace lockstep {

enum class Exchange { all_reduce, reduce_broadcast };

// The gradients of a step's samples, summed over all ranks: the same bits on each.
class SynchronousGradients {
 public:
  SynchronousGradients(Exchange exchange, const ParallelConfig& config,
                       const OptimizerConfig& optimizer)
      : exchange_(exchange), config_(config), optimizer_(optimizer) {}

  void prepare(Worker& worker);
  // Computes and exchanges the gradients; figures of all ranks are in the result.
  void compute(Worker& worker, BatchSource& source, int64_t step, StepResult& result);
  // Losses of this rank's shards in the last computation, which is one shard in mode "fast".
  std::span<const double> shard_losses() const { return shard_losses_; }
  // Part of a checkpoint.
  std::vector<std::span<float>> arrays() { return exchanged_->arrays(); }

 private:
  void exchange(Worker& worker, StepResult& result);
  void compute_by_tree(Worker& worker, BatchSource& source, const StepShare& share,
                       StepResult& result);

  Exchange exchange_;
  ParallelConfig config_;
  OptimizerConfig optimizer_;
  std::optional<GradientExchange> exchanged_;
  std::unique_ptr<GradientBuckets> buckets_;
  std::vector<DeviceMemory> sums_;
  std::vector<double> shard_losses_;
};

}  // namespace lockstep
