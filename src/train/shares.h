#pragma once

#include <vector>

#include "config/run_config.h"

namespace lockstep {

// How the rows of a step are divided among ranks, into shards and into micro-batches. Used for
// training, measurement and simulation.

// Configured rows per step of all ranks that train; may exceed the number of samples.
int64_t global_batch(const RunConfig& config, int64_t samples, int64_t training_ranks);
// The same, but at most `samples`.
int64_t rows_per_step(const RunConfig& config, int64_t samples, int64_t training_ranks);

// Rows of each shard that a rank computes, in a step of `all` rows: one shard per rank, or in mode
// "reproducible" the rank's part of parallel.shards. All shards if the strategy deals portions.
std::vector<int64_t> shard_rows(const RunConfig& config, int64_t all, int64_t training_ranks,
                                int64_t rank);
int64_t largest_shard_rows(const RunConfig& config, int64_t all, int64_t training_ranks);

// Rows per micro-batch: `rows` in parallel.micro_batches, if there is a pipeline or they are set;
// else in equal micro-batches of at most train.micro_batch.
int64_t micro_batch_rows(const RunConfig& config, int64_t rows);

}  // namespace lockstep
