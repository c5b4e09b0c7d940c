#pragma once

#include <cstdint>
#include <string>

#include "base/enum_text.h"
#include "base/part.h"
#include "comm/backend.h"
#include "comm/compression.h"
#include "parallel/pipeline/schedule.h"

namespace lockstep {

// reproducible: the same weights, bit by bit, for any number of ranks.
enum class Mode { fast, reproducible };
template <>
inline constexpr auto enum_texts<Mode> = std::array{"fast", "reproducible"};

// What train.batch counts: samples per rank, or of all ranks.
enum class BatchOf { rank, all };
template <>
inline constexpr auto enum_texts<BatchOf> = std::array{"per-rank", "global"};

// When average-weights averages.
enum class Averaging { steps, epoch, end, never };
template <>
inline constexpr auto enum_texts<Averaging> = std::array{"steps", "epoch", "end", "never"};

// The [parallel] section of a configuration.
struct ParallelConfig {
  int64_t ranks = 1;
  Backend backend = Backend::mpi;
  std::string strategy = "all-reduce";  // see strategies()
  Mode mode = Mode::fast;
  int64_t shards = 8;  // reproducible: number of shards of a global batch
  BatchOf batch = BatchOf::rank;
  Parts parts = Parts::shuffled;
  double bucket_mb = 1;                      // all-reduce: smallest bucket of gradients, in MB
  bool overlap = true;                       // all-reduce: reduce during the backward pass
  Compression compress = Compression::none;  // of gradients, or of changes of averaged weights
  double compress_share = 0.01;              // top-k: share of the values that is sent
  Averaging average = Averaging::epoch;      // average-weights: when to average
  int64_t average_steps = 1;                 // average-weights: steps between two averages
  int64_t servers = 1;                       // parameter-server: the last ranks hold the weights
  bool asynchronous = false;                 // parameter-server: every push is an update
  int64_t staleness = 4;          // asynchronous: largest lead over the slowest worker, in pushes
  std::string affinity = "none";  // none, compact, scatter, or a list of cores
  double timeout = 300;           // seconds a rank waits for others
  int64_t pipeline = 1;           // ranks that hold one replica of the network, as stages
  Schedule schedule = Schedule::one_f_one_b;  // order of micro-batches in a pipeline
  int64_t chunks = 0;         // parts of the network per stage; 0: 2 if interleaved, else 1
  int64_t micro_batches = 0;  // per step and rank; 0: 4 per stage, or as train.micro_batch says

  int chunks_per_stage() const {
    return chunks > 0 ? static_cast<int>(chunks) : schedule == Schedule::interleaved ? 2 : 1;
  }
};

}  // namespace lockstep
