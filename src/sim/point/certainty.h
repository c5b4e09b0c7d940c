#pragma once

#include "sim/point/point_costs.h"
#include "sim/point/simulation.h"

namespace lockstep {

// What a prediction was made from, for saying how far it can be trusted.
struct PredictedFrom {
  const SimulatedPoint& point;
  const DataSplits& data;
  const Profile& profile;
  const Cluster& cluster;
  const NetworkCosts& costs;
  const StepCost& cost;  // of the slowest rank of the first node
  double sharing = 1;    // of that rank's cores: see NodePlaces
};

// Sets what disturbed the measurements and what was extrapolated, the cautions that say so, and the
// band that is meant to hold the median step of nine runs out of ten.
void state_certainty(Prediction& prediction, const PredictedFrom& from);

}  // namespace lockstep
