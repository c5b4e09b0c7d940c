#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/load.h"
#include "parallel/trace.h"
#include "sim/cluster.h"
#include "sim/profile.h"
#include "train/held_batches.h"
#include "train/observer.h"
#include "train/rank_memory.h"

namespace lockstep {

// A run of `config` (its ranks, threads, strategy, batch) on a cluster.
struct SimulatedPoint {
  RunConfig config;
  int per_node = 1;     // ranks
  int nodes = 1;        // in use
  int64_t samples = 0;  // of the training part; 0: as many as the data has
};

struct Prediction {
  int64_t ranks = 1, nodes = 1, training = 1, threads = 1;
  int64_t samples = 0, global_batch = 0, steps = 0;  // steps: an epoch
  double step_seconds = 0;                           // in the long run
  double epochs = 1;                                 // of the run; the last may be a part of one
  double epoch_seconds = 0, evaluation_seconds = 0, total_seconds = 0;
  double low = 0, high = 0;        // the band of step_seconds
  StepTimes times;                 // of a step, mean of the ranks that train
  std::vector<StepTimes> by_rank;  // the same
  RankMemory memory;
  bool oversubscribed = false;
  std::vector<std::string> cautions;  // where the prediction leaves what was measured
  std::vector<Trace> traces;          // of a few steps, one a rank, where asked for
  double lost_seconds = 0;            // by a failure that was asked about
  double checkpoint_interval = 0;     // seconds that would be best then
};

enum class Engine { simgrid, analytic };

struct SimulateOptions {
  Engine engine = Engine::simgrid;
  std::string collectives = "ompi";
  bool loading = true;  // as in training; a benchmark holds its batches in memory
  bool trace = false;
};

// Ranks and nodes as the user asked: `nodes` 0 fills node after node. Throws where they do not fit.
SimulatedPoint place_point(const RunConfig& config, const Cluster& cluster, int64_t ranks,
                           int64_t nodes, bool oversubscribe);

// What the point needs in memory; throws a UserError that says by how much it is too much.
RankMemory memory_of(const SimulatedPoint& point, const DataSplits& data);
void expect_to_fit(const SimulatedPoint& point, const RankMemory& memory, const Cluster& cluster);

// Costs of the point's network on the profile's machine: from the profile, or measured now where
// `may_measure`, and then kept in it.
const NetworkCosts& costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                              bool may_measure);

// Measures them once more, and keeps what is quicker.
void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds);

// The same where they are known to be there.
const NetworkCosts& known_costs(const SimulatedPoint& point, const DataSplits& data,
                                const Profile& profile);

// What a step costs a rank on this node.
StepCost point_cost(const SimulatedPoint& point, const NetworkCosts& costs, const Profile& profile,
                    const Cluster& cluster, int node);

// Predicts. SimGrid runs in a process of its own.
Prediction simulate_point(const SimulatedPoint& point, const DataSplits& data,
                          const Profile& profile, const Cluster& cluster,
                          const SimulateOptions& options);

// A node or link is lost while the run goes on: its time grows by what was done since the last
// checkpoint, by what the others wait for it (parallel.timeout) and by the restart. The best
// interval between checkpoints is Young's: sqrt(2 x checkpoint x time between failures).
void account_for_failure(Prediction& prediction, const RunConfig& config,
                         const Disturbance& disturbance, double checkpoint_seconds);

}  // namespace lockstep
