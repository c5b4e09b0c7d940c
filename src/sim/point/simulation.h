#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parallel/trace.h"
#include "sim/point/point.h"
#include "sim/point/point_costs.h"
#include "train/observer.h"

namespace lockstep {

struct Prediction {
  int64_t ranks = 1, nodes = 1, training = 1, threads = 1;
  int64_t samples = 0, global_batch = 0, steps = 0;  // steps: per epoch
  double step_seconds = 0;                           // expected: the median
  double undisturbed_step_seconds = 0;               // on a machine that nothing else uses
  double epochs = 1;                                 // of the run; may be fractional
  double epoch_seconds = 0, evaluation_seconds = 0, total_seconds = 0;
  double low = 0, high = 0;        // 90% band of step_seconds
  StepTimes times;                 // per step, mean of the training ranks
  std::vector<StepTimes> by_rank;  // per step, of the training ranks
  RankMemory memory;
  bool oversubscribed = false;
  bool disturbed = false;             // based on measurements of a busy machine
  bool extrapolated = false;          // to more threads than the measured machine has cores
  std::vector<std::string> cautions;  // where the prediction goes beyond measurements
  std::vector<Trace> traces;          // of a few steps, one per rank, if requested
  double lost_seconds = 0;            // by the simulated failure
  double checkpoint_interval = 0;     // best interval for that failure, seconds
};

enum class Engine { simgrid, analytic };
template <>
inline constexpr auto enum_texts<Engine> = std::array{"simgrid", "analytic"};

struct SimulateOptions {
  Engine engine = Engine::simgrid;
  std::string collectives = "ompi";
  bool loading = true;  // charged as in training; benchmarks hold batches in memory
  bool trace = false;
};

// Predicts the times of a point. SimGrid runs in a separate process.
Prediction simulate_point(const SimulatedPoint& point, const DataSplits& data,
                          const Profile& profile, const Cluster& cluster,
                          const SimulateOptions& options);

// Adds the loss of a node or link to the time of the run: the work since the last checkpoint, the
// time that other ranks wait (parallel.timeout) and the restart. The best interval between
// checkpoints is Young's: sqrt(2 x checkpoint x time between failures).
void account_for_failure(Prediction& prediction, const RunConfig& config,
                         const Disturbance& disturbance, double checkpoint_seconds);

}  // namespace lockstep
