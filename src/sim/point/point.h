#pragma once

#include "cluster/cluster.h"
#include "config/run_config.h"
#include "data/load.h"
#include "train/rank_memory.h"

namespace lockstep {

// A run of `config` (its ranks, threads, strategy, batch) on a cluster.
struct SimulatedPoint {
  RunConfig config;
  int per_node = 1;     // ranks per node
  int nodes = 1;        // in use
  int64_t samples = 0;  // of the training part; 0: all samples of the data
  int node_cores = 0;   // limits the threads that compute; 0: no limit

  // Number of threads of a rank that compute at the same time.
  int threads() const;
};

// Places `ranks` ranks (0: one per node) on `nodes` nodes (0: fills nodes in order). Throws if they
// do not fit.
SimulatedPoint place_point(const RunConfig& config, const Cluster& cluster, int64_t ranks,
                           int64_t nodes, bool oversubscribe);

// How the rows of a step are divided among ranks.
struct Shares {
  int64_t training = 1;     // number of ranks that train; others are servers
  int64_t all = 0;          // rows of a step
  int64_t micro_batch = 0;  // rows
};
Shares shares_of(const SimulatedPoint& point, const DataSplits& data);

int64_t samples_of(const SimulatedPoint& point, const DataSplits& data);

// Memory that one rank needs. expect_to_fit() throws a UserError that says how much is missing.
RankMemory memory_of(const SimulatedPoint& point, const DataSplits& data);
void expect_to_fit(const SimulatedPoint& point, const RankMemory& memory, const Cluster& cluster);

}  // namespace lockstep
