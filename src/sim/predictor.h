#pragma once

#include <set>
#include <vector>

#include "data/load.h"
#include "data/say.h"
#include "sim/measure/calibrate.h"
#include "sim/point/simulation.h"

namespace lockstep {

// A cluster by name, by path, or as "this": the machine of the profile.
Cluster find_cluster(const std::string& name_or_path, const Profile& profile);

// Inputs of predictions.
struct Predictor {
  Profile profile;
  bool own = true;           // the profile is this machine's: missing costs are measured
  bool recalibrate = false;  // needed costs are measured again, once
  Cluster cluster;
  DataSplits data;
  SimulateOptions how;
  Say say;

  Prediction predict(const SimulatedPoint& point);
  // Puts the costs of the point's network into the profile, measured now if they are missing.
  void learn_costs(const SimulatedPoint& point);

 private:
  Measuring measuring_for(const SimulatedPoint& point);
  std::set<std::string> looked_at_;  // networks that need not be measured any more
  bool machine_is_busy_ = false;
};

// Where costs come from.
struct CostSource {
  std::string profile_file;  // empty: this machine's profile
  bool recalibrate = false;
};
Predictor make_predictor(const RunConfig& config, const CostSource& source,
                         const std::string& cluster, const SimulateOptions& how, const Say& say);

}  // namespace lockstep
