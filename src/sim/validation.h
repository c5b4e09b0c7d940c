#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "data/load.h"
#include "data/say.h"
#include "sim/point/simulation.h"

namespace lockstep {

// A prediction and what real runs took.
struct Validated {
  SimulatedPoint point;
  Prediction predicted;
  double measured = 0;              // seconds per step, median
  double measured_undisturbed = 0;  // the same, undisturbed
  std::string disturbed_by;         // empty: there were runs that nothing disturbed
  // Calibration times steps of one rank, and short steps of two; a prediction for these is no
  // proof that others are right.
  bool step_was_calibrated = false;

  double error() const { return predicted.step_seconds / measured - 1; }
  double undisturbed_error() const {
    return predicted.undisturbed_step_seconds / measured_undisturbed - 1;
  }
  bool in_band() const { return measured >= predicted.low && measured <= predicted.high; }
};
nlohmann::ordered_json to_json(const Validated& validated);

// Measures kernels and runs steps for real in turns, `rounds` times, so that both meet the same
// neighbours. What was disturbed is repeated and, if there is nothing better, labelled. Batches are
// held in memory. The results are added to the log in the cache folder.
std::vector<Validated> validate(const std::vector<SimulatedPoint>& points, const DataSplits& data,
                                Profile& profile, const Cluster& cluster, SimulateOptions how,
                                int rounds, const Say& say);

fs::path validation_log();

}  // namespace lockstep
