#pragma once

#include "sim/point/point_costs.h"
#include "sim/point/simulation.h"

namespace lockstep {

// Inputs of a prediction, from which its certainty is derived.
struct PredictedFrom {
  const SimulatedPoint& point;
  const DataSplits& data;
  const Profile& profile;
  const Cluster& cluster;
  const NetworkCosts& costs;
  const StepCost& cost;  // of the slowest rank of the first node
  double sharing = 1;    // of that rank's cores: see NodePlaces
};

// Sets whether measurements were disturbed or extrapolated, the cautions that say so, and the band
// that is meant to hold 90% of measured median steps.
void state_certainty(Prediction& prediction, const PredictedFrom& from);

}  // namespace lockstep
