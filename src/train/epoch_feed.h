#pragma once

#include "config/run_config.h"
#include "data/loader.h"
#include "data/partition.h"
#include "parallel/batch_source.h"

namespace lockstep {

// Supplies one rank with its samples, epoch by epoch.
class EpochFeed final : public BatchSource {
 public:
  // `ranks`: number of ranks that train. Ranks beyond them have no samples.
  EpochFeed(const RunConfig& config, const Dataset& data, int rank, int ranks);

  void start(int64_t epoch, int64_t first_step);

  int64_t micro_batch() const { return micro_batch_; }      // rows of the largest micro-batch
  int64_t micro_batches() const { return micro_batches_; }  // of the largest shard
  // Micro-batches stay valid for this number of calls of next(). Call it before start().
  void hold(int64_t micro_batches) { loader_.hold(micro_batches); }
  // Of the epoch that was started; train.steps may shorten the last one.
  int64_t steps() const override { return steps_; }
  int64_t whole_epoch() const { return static_cast<int64_t>(shares_.size()); }
  const StepShare& share(int64_t step) const override { return shares_[static_cast<size_t>(step)]; }
  MicroBatch next() override;
  void repeat(int64_t step) override { start(static_cast<int64_t>(epoch_), step); }
  void choose(int64_t step, int64_t shard) override;

 private:
  uint64_t seed_;
  bool deals_portions_;
  Partition partition_;
  int rank_;
  std::vector<StepShare> shares_;
  int64_t micro_batch_ = 1, micro_batches_ = 1;
  BatchLoader loader_;
  uint64_t epoch_ = 0;
  std::vector<int64_t> samples_;  // of the epoch
  int64_t run_steps_;             // train.steps; 0: whole epochs
  int64_t steps_ = 0;
};

}  // namespace lockstep
