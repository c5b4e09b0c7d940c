#pragma once

#include <vector>

#include "data/say.h"
#include "sim/cluster.h"
#include "sim/profile.h"

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

// In a job of two MPI ranks: measures operations between them; rank 0 writes the tables.
void measure_mpi_tables(const fs::path& path);

}  // namespace lockstep
