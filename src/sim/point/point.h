#pragma once

#include "config/run_config.h"
#include "data/load.h"
#include "sim/cluster.h"
#include "train/rank_memory.h"

namespace lockstep {

// A run of `config` (its ranks, threads, strategy, batch) on a cluster.
struct SimulatedPoint {
  RunConfig config;
  int per_node = 1;     // ranks
  int nodes = 1;        // in use
  int64_t samples = 0;  // of the training part; 0: as many as the data has
  int node_cores = 0;   // a rank cannot compute on more; 0: as many as its threads

  // Threads of a rank that compute at once.
  int threads() const;
};

// Ranks and nodes as the user asked: `nodes` 0 fills node after node. Throws where they do not fit.
SimulatedPoint place_point(const RunConfig& config, const Cluster& cluster, int64_t ranks,
                           int64_t nodes, bool oversubscribe);

// How the rows of a step are shared.
struct Shares {
  int64_t training = 1;     // ranks; others serve them
  int64_t all = 0;          // rows of a step
  int64_t micro_batch = 0;  // rows
};
Shares shares_of(const SimulatedPoint& point, const DataSplits& data);

int64_t samples_of(const SimulatedPoint& point, const DataSplits& data);

// What the point needs in memory; throws a UserError that says by how much it is too much.
RankMemory memory_of(const SimulatedPoint& point, const DataSplits& data);
void expect_to_fit(const SimulatedPoint& point, const RankMemory& memory, const Cluster& cluster);

}  // namespace lockstep
