#pragma once

#include <vector>

#include "data/load.h"
#include "data/say.h"
#include "sim/simulation.h"

namespace lockstep {

// A prediction and what a real run took.
struct Validated {
  SimulatedPoint point;
  Prediction predicted;
  double measured = 0;  // seconds a step, undisturbed
  double error() const { return predicted.step_seconds / measured - 1; }
};

// Measures kernels and runs steps for real in turns, `rounds` times, so that both meet the same
// neighbours; the undisturbed of both are compared. Batches are held in memory. The results are
// added to the log in the cache folder.
std::vector<Validated> validate(const std::vector<SimulatedPoint>& points, const DataSplits& data,
                                Profile& profile, const Cluster& cluster, SimulateOptions how,
                                int rounds, const Say& say);

fs::path validation_log();

}  // namespace lockstep
