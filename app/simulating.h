#pragma once

#include <vector>

#include "data/load.h"
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

// This machine's profile from the cache; where there is none, or `fresh`, operations between ranks
// are measured now.
Profile machine_profile(bool fresh, const Say& say);

// Measures them once more, and keeps what is quicker: the less disturbed.
void refine_tables(Profile& profile, const Say& say);

// All that predictions are made from.
struct Predictor {
  Profile profile;
  bool own = true;  // the profile is this machine's: what it lacks is measured
  Cluster cluster;
  DataSplits data;
  SimulateOptions how;

  Prediction predict(const SimulatedPoint& point);
};
// `profile_file`: empty for this machine's.
Predictor make_predictor(const RunConfig& config, const std::string& profile_file,
                         const std::string& cluster, const SimulateOptions& how, const Say& say);

// In a job of two MPI ranks: measures operations between them; rank 0 writes the tables.
void measure_mpi_tables(const fs::path& path);

}  // namespace lockstep
