#pragma once

#include "data/loader.h"
#include "data/partition.h"
#include "parallel/batch_source.h"
#include "train/run_config.h"

namespace lockstep {

// Rows are worked through in equal pieces of at most `limit`.
int64_t piece_size(int64_t rows, int64_t limit);

int64_t piece_limit(const TrainConfig& train);
// Rows of a step of all ranks together; may be more than there are samples.
int64_t global_batch(const RunConfig& config, int64_t samples, int64_t ranks);

// Feeds one rank the samples of its share, epoch by epoch.
class EpochFeed final : public BatchSource {
 public:
  // `ranks`: those that train. A rank beyond them has no samples.
  EpochFeed(const RunConfig& config, const Dataset& data, int rank, int ranks);

  void start(int64_t epoch, int64_t first_step);

  int64_t piece() const { return piece_; }  // rows of the largest
  // Of the epoch that was started: the last one of a run of so many steps may be cut short.
  int64_t steps() const override { return steps_; }
  int64_t whole_epoch() const { return static_cast<int64_t>(shares_.size()); }
  const StepShare& share(int64_t step) const override { return shares_[static_cast<size_t>(step)]; }
  Piece next() override;

 private:
  uint64_t seed_;
  Partition partition_;
  int rank_;
  std::vector<StepShare> shares_;
  int64_t piece_ = 1;
  BatchLoader loader_;
  uint64_t epoch_ = 0;
  int64_t run_steps_;  // 0: whole epochs
  int64_t steps_ = 0;
};

}  // namespace lockstep
