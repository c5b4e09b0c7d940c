#include "sim/profile/profile.h"

#include "base/error.h"
#include "fuzz_target.h"

namespace lockstep {
namespace {

void read(const std::string& input) {
  const Profile profile = read_profile(scratch_file("profile.json", input));
  is_stale(profile.measured, profile.version);
  for (const auto& [key, costs] : profile.networks)
    for (const int ranks : {1, 2, 16}) cost_on_node(costs, profile.cores, ranks, 16);
  for (const auto& [key, table] : profile.mpi) table.at(1000);
  const fs::path written = scratch_folder() / "written.json";
  write_profile(written, profile);
  try {
    read_profile(written);
  } catch (const UserError& error) {
    throw std::logic_error(std::string("a profile that was written is refused: ") + error.what());
  }
}

std::vector<std::string> seeds() {
  Profile profile;
  profile.machine = "a machine";
  profile.cores = 2;
  profile.version = LOCKSTEP_VERSION;
  profile.measured = "2026-11-16 04:12:17 UTC";
  profile.threads["barrier"].add(64, 1e-6);
  for (const double bytes : {64.0, 1024.0}) profile.mpi["exchange"].add(bytes, bytes / 1e9);
  NetworkCosts costs;
  costs.rows = 8;
  costs.parameters = 100;
  costs.measured = profile.measured;
  for (const int ranks : {1, 2}) {
    costs.by_ranks[ranks].kernels = {{"dense", 1e-3, 2e-3}};
    costs.by_ranks[ranks].micro_batch = 1e-4;
  }
  profile.networks["a network"] = costs;
  const fs::path path = scratch_folder() / "seed.json";
  write_profile(path, profile);
  return {read_text(path)};
}

}  // namespace

FuzzTarget profile_target() { return {"profile", read, seeds}; }

}  // namespace lockstep
