#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "data/load.h"
#include "data/say.h"
#include "sim/point/simulation.h"

namespace lockstep {

// A prediction and the measurements of real runs.
struct Validated {
  SimulatedPoint point;
  Prediction predicted;
  double measured = 0;              // seconds per step, median
  double measured_undisturbed = 0;  // the same, undisturbed
  std::string disturbed_by;         // empty: real runs and costs were undisturbed
  // Calibration measures whole steps of one rank; predicting these does not show that other
  // predictions are right.
  bool step_was_calibrated = false;

  double error() const { return predicted.step_seconds / measured - 1; }
  double undisturbed_error() const {
    return predicted.undisturbed_step_seconds / measured_undisturbed - 1;
  }
  bool in_band() const { return measured >= predicted.low && measured <= predicted.high; }
};
nlohmann::ordered_json to_json(const Validated& validated);

// Measures kernels and runs real steps in turn, `rounds` times, so that both meet the same
// disturbances. Disturbed runs are repeated and, if none is undisturbed, labelled. Batches are held
// in memory. The results are appended to the log in the cache folder.
std::vector<Validated> validate(const std::vector<SimulatedPoint>& points, const DataSplits& data,
                                Profile& profile, const Cluster& cluster, SimulateOptions how,
                                int rounds, const Say& say);

fs::path validation_log();

}  // namespace lockstep
