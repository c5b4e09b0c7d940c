#include "train/shares.h"

#include <algorithm>

#include "base/error.h"
#include "base/part.h"
#include "parallel/strategy.h"

namespace lockstep {
namespace {

int64_t shard_count(const RunConfig& config, int64_t training_ranks) {
  const ParallelConfig& p = config.parallel;
  const bool cuts = p.mode == Mode::reproducible || traits_of(p).deals_portions;
  return cuts ? p.shards : training_ranks;
}

}  // namespace

int64_t global_batch(const RunConfig& config, int64_t samples, int64_t training_ranks) {
  const int64_t asked = config.train.batch * config.train.accumulate;
  if (asked == 0) return samples;
  return config.parallel.batch == BatchOf::rank ? asked * training_ranks : asked;
}

int64_t rows_per_step(const RunConfig& config, int64_t samples, int64_t training_ranks) {
  return std::min(samples, global_batch(config, samples, training_ranks));
}

std::vector<int64_t> shard_rows(const RunConfig& config, int64_t all, int64_t training_ranks,
                                int64_t rank) {
  const int64_t count = shard_count(config, training_ranks);
  const Part mine = traits_of(config.parallel).deals_portions
                        ? Part{0, count}
                        : part_of(count, training_ranks, rank);
  std::vector<int64_t> rows;
  for (int64_t shard = mine.begin; shard < mine.end; ++shard)
    rows.push_back(part_of(all, count, shard).size());
  return rows;
}

int64_t largest_shard_rows(const RunConfig& config, int64_t all, int64_t training_ranks) {
  const int64_t count = shard_count(config, training_ranks);
  return part_of(all, count, count - 1).size();
}

int64_t micro_batch_rows(const RunConfig& config, int64_t rows) {
  const TrainConfig& train = config.train;
  const ParallelConfig& p = config.parallel;
  if (p.pipeline > 1 || p.micro_batches > 0) {
    const int64_t count =
        p.micro_batches > 0
            ? p.micro_batches
            : std::max(4 * p.pipeline, (rows + train.micro_batch - 1) / train.micro_batch);
    const int64_t each = (rows + count - 1) / count;
    if (train.micro_batch < each)
      throw UserError(
          "train.micro_batch = {} and parallel.micro_batches = {} disagree: {} samples in {} "
          "micro-batches are {} each; leave one of them out",
          train.micro_batch, count, rows, count, each);
    return each;
  }
  const bool accumulates = train.accumulate > 1 && train.batch > 0;
  const int64_t most = accumulates ? std::min(train.micro_batch, train.batch) : train.micro_batch;
  const int64_t count = (rows + most - 1) / most;
  return (rows + count - 1) / count;
}

}  // namespace lockstep
