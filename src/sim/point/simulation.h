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
  int64_t samples = 0, global_batch = 0, steps = 0;  // steps: an epoch
  double step_seconds = 0;                           // to expect: the median
  double undisturbed_step_seconds = 0;               // on a machine that nothing else uses
  double epochs = 1;                                 // of the run; the last may be a part of one
  double epoch_seconds = 0, evaluation_seconds = 0, total_seconds = 0;
  double low = 0, high = 0;        // the band of step_seconds, for nine runs out of ten
  StepTimes times;                 // of a step, mean of the ranks that train
  std::vector<StepTimes> by_rank;  // the same
  RankMemory memory;
  bool oversubscribed = false;
  bool disturbed = false;     // what it was made from was measured while the machine was busy
  bool extrapolated = false;  // to more threads than there were cores to measure them on
  std::vector<std::string> cautions;  // where the prediction leaves what was measured
  std::vector<Trace> traces;          // of a few steps, one a rank, where asked for
  double lost_seconds = 0;            // by a failure that was asked about
  double checkpoint_interval = 0;     // seconds that would be best then
};

enum class Engine { simgrid, analytic };
template <>
inline constexpr auto enum_texts<Engine> = std::array{"simgrid", "analytic"};

struct SimulateOptions {
  Engine engine = Engine::simgrid;
  std::string collectives = "ompi";
  bool loading = true;  // as in training; a benchmark holds its batches in memory
  bool trace = false;
};

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
