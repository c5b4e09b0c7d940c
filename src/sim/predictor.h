#pragma once

#include <set>
#include <vector>

#include "data/load.h"
#include "data/say.h"
#include "sim/simulation.h"

namespace lockstep {

// A cluster that comes with the program: clusters/<name>.toml, compiled in.
struct ShippedCluster {
  std::string name;
  std::string text;
};
const std::vector<ShippedCluster>& shipped_clusters();

// By name, by path, or "this": the machine of the profile.
Cluster find_cluster(const std::string& name_or_path, const Profile& profile);

// This machine's profile from the cache; operations between ranks are measured now where they are
// missing, old, or were disturbed, or where they are to be measured again.
Profile machine_profile(Measuring measuring, const Say& say);

// Measures them once more, and keeps what is better.
void refine_tables(Profile& profile, const Say& say);

// All that predictions are made from.
struct Predictor {
  Profile profile;
  bool own = true;           // the profile is this machine's: what it lacks is measured
  bool recalibrate = false;  // what is needed is measured again, once
  Cluster cluster;
  DataSplits data;
  SimulateOptions how;
  Say say;

  Prediction predict(const SimulatedPoint& point);

 private:
  Measuring measuring_for(const SimulatedPoint& point);
  std::set<std::string> looked_at_;  // networks whose costs are as good as they get now
  bool machine_is_busy_ = false;
};

// Where costs come from.
struct CostSource {
  std::string profile_file;  // empty: this machine's profile
  bool recalibrate = false;
};
Predictor make_predictor(const RunConfig& config, const CostSource& source,
                         const std::string& cluster, const SimulateOptions& how, const Say& say);

// In a job of two MPI ranks: measures operations between them; rank 0 writes the tables.
void measure_mpi_tables(const fs::path& path);

}  // namespace lockstep
