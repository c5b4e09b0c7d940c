#pragma once

#include <vector>

#include "config/run_config.h"

namespace lockstep {

// How the rows of a step are divided: among ranks, into shards, into micro-batches. Training,
// measuring and simulating all divide them here.

// Rows of a step of all ranks that train, as configured; may be more than there are samples.
int64_t global_batch(const RunConfig& config, int64_t samples, int64_t training_ranks);
// The same, of a data set of this size.
int64_t rows_per_step(const RunConfig& config, int64_t samples, int64_t training_ranks);

// Rows of the shards that a rank computes, of a step of `all` rows: one per rank, or in mode
// "reproducible" several of parallel.shards.
std::vector<int64_t> shard_rows(const RunConfig& config, int64_t all, int64_t training_ranks,
                                int64_t rank);
int64_t largest_shard_rows(const RunConfig& config, int64_t all, int64_t training_ranks);

// Rows that pass through the network at once: equal micro-batches of at most train.micro_batch.
int64_t micro_batch_rows(const TrainConfig& train, int64_t rows);

}  // namespace lockstep
