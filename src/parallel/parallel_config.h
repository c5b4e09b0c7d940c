#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// What the [parallel] section of a configuration says.
struct ParallelConfig {
  int64_t ranks = 1;
  std::string backend = "mpi";          // threads: ranks are threads of one process
  std::string strategy = "all-reduce";  // see strategies()
  std::string mode = "fast";            // reproducible: the same bits for any number of ranks
  int64_t shards = 8;                   // reproducible: pieces a global batch is always cut into
  std::string batch = "per-rank";       // what train.batch counts; or global
  std::string parts = "shuffled";       // see data/partition.h
  double bucket_mb = 1;                 // gradients are sent in pieces of at least this size
  bool overlap = true;                  // while the backward pass goes on
  std::string average = "epoch";        // average-weights: steps, epoch, end, never
  int64_t average_steps = 1;            // average-weights, every so many steps
  int64_t servers = 1;                  // parameter-server: the last ranks hold the weights
  bool asynchronous = false;            // parameter-server: nobody waits for the others ...
  int64_t staleness = 4;                // ... unless it is so many steps ahead of the slowest
  std::string affinity = "none";        // compact, scatter, or a list of cores
  double timeout = 300;                 // seconds a rank waits for others
};

}  // namespace lockstep
