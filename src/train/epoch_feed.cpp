#include "train/epoch_feed.h"

#include <algorithm>

#include "base/error.h"
#include "parallel/strategy.h"
#include "train/batch_input.h"
#include "train/shares.h"

namespace lockstep {

EpochFeed::EpochFeed(const RunConfig& config, const Dataset& data, int rank, int ranks)
    : seed_(static_cast<uint64_t>(config.seed)),
      deals_portions_(traits_of(config.parallel).deals_portions),
      partition_(config.parallel.parts, data.size(), global_batch(config, data.size(), ranks),
                 deals_portions_ ? 1 : ranks, seed_),
      rank_(rank >= ranks     ? -1
            : deals_portions_ ? 0
                              : rank),
      loader_(data, 1, seed_, false, rank < ranks ? config.data.workers : 0),
      run_steps_(config.train.steps) {
  int64_t largest = 1;
  const bool cuts_shards = config.parallel.mode == Mode::reproducible || deals_portions_;
  for (int64_t step = 0; step < partition_.steps(); ++step) {
    StepShare share{.all = partition_.rows_of(step)};
    if (rank_ >= 0) {
      share.mine = partition_.rows_of(step, rank_);
      share.shards = cuts_shards ? shard_rows(config, share.all, ranks, rank_)
                                 : std::vector<int64_t>{share.mine};
    }
    // The size of micro-batches must not depend on the rank: it may decide which kernels are used.
    largest = std::max(largest, largest_shard_rows(config, share.all, ranks));
    for (const int64_t rows : share.shards) largest = std::max(largest, rows);
    shares_.push_back(std::move(share));
  }
  micro_batch_ = micro_batch_rows(config, largest);
  micro_batches_ = (largest + micro_batch_ - 1) / micro_batch_;
  steps_ = whole_epoch();
}

void EpochFeed::start(int64_t epoch, int64_t first_step) {
  const bool has_samples = epoch_ == static_cast<uint64_t>(epoch) && !samples_.empty();
  epoch_ = static_cast<uint64_t>(epoch);
  steps_ = whole_epoch();
  if (run_steps_ > 0) steps_ = std::clamp<int64_t>(run_steps_ - (epoch - 1) * steps_, 0, steps_);
  if (rank_ < 0) return;
  if (!has_samples) samples_ = partition_.samples_of(epoch, rank_);
  if (deals_portions_) return;
  std::vector<int64_t> sizes;
  int64_t skipped = 0, wanted = 0;
  for (int64_t step = 0; step < steps(); ++step)
    for (int64_t left : share(step).shards) {
      if (step < first_step) {
        skipped += left;
        continue;
      }
      wanted += left;
      for (; left > 0; left -= sizes.back()) sizes.push_back(std::min(left, micro_batch_));
    }
  const auto first = samples_.begin() + skipped;
  loader_.start({first, first + wanted}, sizes);
}

void EpochFeed::choose(int64_t step, int64_t shard) {
  const std::vector<int64_t>& shards = share(step).shards;
  auto begin = samples_.begin();
  for (int64_t s = 0; s < step; ++s) begin += share(s).all;
  for (int64_t s = 0; s < shard; ++s) begin += shards[static_cast<size_t>(s)];
  int64_t left = shards[static_cast<size_t>(shard)];
  std::vector<int64_t> rows(begin, begin + left), sizes;
  for (; left > 0; left -= sizes.back()) sizes.push_back(std::min(left, micro_batch_));
  loader_.start(std::move(rows), sizes);
}

MicroBatch EpochFeed::next() {
  const Batch* batch = loader_.next();
  ENSURE(batch != nullptr);
  return {.rows = batch->rows,
          .input = input_of(*batch),
          .targets = targets_of(*batch),
          .keys = {.seed = seed_, .epoch = epoch_, .ids = batch->ids}};
}

}  // namespace lockstep
