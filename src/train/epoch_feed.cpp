#include "train/epoch_feed.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "train/batch_input.h"

namespace lockstep {

int64_t global_batch(const RunConfig& config, int64_t samples, int64_t ranks) {
  const int64_t asked = config.train.batch * config.train.accumulate;
  if (asked == 0) return samples;
  return config.parallel.batch == "per-rank" ? asked * ranks : asked;
}

int64_t piece_limit(const TrainConfig& train) {
  if (train.accumulate > 1 && train.batch > 0) return std::min(train.micro_batch, train.batch);
  return train.micro_batch;
}

int64_t piece_size(int64_t rows, int64_t limit) {
  const int64_t pieces = (rows + limit - 1) / limit;
  return (rows + pieces - 1) / pieces;
}

EpochFeed::EpochFeed(const RunConfig& config, const Dataset& data, int rank, int ranks)
    : seed_(static_cast<uint64_t>(config.seed)),
      partition_(config.parallel.parts, data.size(), global_batch(config, data.size(), ranks),
                 ranks, seed_),
      rank_(rank < ranks ? rank : -1),
      loader_(data, 1, seed_, false, rank < ranks ? config.data.workers : 0),
      run_steps_(config.train.steps) {
  int64_t largest = 1;
  const bool reproducible = config.parallel.mode == "reproducible";
  const int64_t shards = reproducible ? config.parallel.shards : ranks;
  for (int64_t step = 0; step < partition_.steps(); ++step) {
    StepShare share{.all = partition_.rows_of(step)};
    if (rank_ >= 0) share.mine = partition_.rows_of(step, rank_);
    if (rank_ >= 0 && reproducible) {
      for (int64_t s = shards * rank_ / ranks; s < shards * (rank_ + 1) / ranks; ++s)
        share.shards.push_back(part_of(share.all, shards, s).size());
    } else {
      share.shards = {share.mine};
    }
    // Kernels may be chosen by the size of pieces: it must not depend on the rank.
    largest = std::max(largest, part_of(share.all, shards, shards - 1).size());
    for (const int64_t rows : share.shards) largest = std::max(largest, rows);
    shares_.push_back(std::move(share));
  }
  piece_ = piece_size(largest, piece_limit(config.train));
  steps_ = whole_epoch();
}

void EpochFeed::start(int64_t epoch, int64_t first_step) {
  epoch_ = static_cast<uint64_t>(epoch);
  steps_ = whole_epoch();
  if (run_steps_ > 0) steps_ = std::clamp<int64_t>(run_steps_ - (epoch - 1) * steps_, 0, steps_);
  if (rank_ < 0) return;
  std::vector<int64_t> rows = partition_.samples_of(epoch, rank_), sizes;
  int64_t skipped = 0;
  for (int64_t step = 0; step < steps(); ++step)
    for (int64_t left : share(step).shards) {
      if (step < first_step) {
        skipped += left;
        continue;
      }
      for (; left > 0; left -= sizes.back()) sizes.push_back(std::min(left, piece_));
    }
  rows.erase(rows.begin(), rows.begin() + skipped);
  rows.resize(static_cast<size_t>(std::accumulate(sizes.begin(), sizes.end(), int64_t{0})));
  loader_.start(std::move(rows), sizes);
}

Piece EpochFeed::next() {
  const Batch* batch = loader_.next();
  ENSURE(batch != nullptr);
  return {.rows = batch->rows,
          .input = input_of(*batch),
          .targets = targets_of(*batch),
          .keys = {.seed = seed_, .epoch = epoch_, .ids = batch->ids}};
}

}  // namespace lockstep
