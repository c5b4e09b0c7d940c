#include "simulating.h"

#include <unistd.h>

#include "base/affinity.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/run_command.h"
#include "comm/backend/mpi.h"
#include "comm/backend/threads.h"
#include "data/folders.h"
#include "launch.h"
#include "sim/measure.h"

namespace lockstep {
namespace {

double memory_of_machine() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

// What writing a checkpoint takes here.
double checkpoint_seconds(const RankMemory& memory) {
  const ScratchFolder scratch(profile_path().parent_path());
  const std::vector<uint8_t> content(static_cast<size_t>(memory.weights + memory.optimizer), 1);
  const WallClock clock;
  const double start = clock.seconds();
  write_file(scratch.path() / "checkpoint", content);
  return clock.seconds() - start;
}

}  // namespace

void refine_tables(Profile& profile, const Say& say) {
  if (profile.cores < 2) {
    say("one core only: operations between ranks cannot be measured, and cost nothing in "
        "predictions of several ranks a node");
    return;
  }
  run_thread_ranks(2, 60, [&](Communicator& ranks) {
    const auto tables = measure_operations(ranks);
    if (ranks.rank() == 0) keep_quicker_tables(profile.threads, tables);
  });
  make_folder(profile_path().parent_path());
  const ScratchFolder scratch(profile_path().parent_path());
  try {
    run_command({fs::read_symlink("/proc/self/exe").string(), "calibrate", "--mpi-tables",
                 (scratch.path() / "mpi.json").string()},
                scratch.path(), std::chrono::seconds(120));
    keep_quicker_tables(profile.mpi, read_profile(scratch.path() / "mpi.json").mpi);
  } catch (const Failure& failure) {
    say(fmt::format("MPI ranks could not be measured, and cost nothing in predictions: {}",
                    failure.what()));
  }
}

void measure_mpi_tables(const fs::path& path) {
  if (mpi_job_size() == 0) launch_ranks(2);
  run_mpi_rank(60, [&](Communicator& ranks) {
    Profile profile;
    profile.machine = this_machine();
    profile.version = LOCKSTEP_VERSION;
    profile.measured = time_text();
    profile.mpi = measure_operations(ranks);
    if (ranks.rank() == 0) write_profile(path, profile);
    ranks.barrier().wait();
  });
}

Profile machine_profile(bool fresh, const Say& say) {
  const fs::path path = profile_path();
  if (!fresh && fs::exists(path)) {
    Profile profile;
    try {
      profile = read_profile(path);
    } catch (const UserError& error) {
      say(fmt::format("{}; measuring anew", error.what()));
      profile.version = "";
    }
    if (!is_stale(profile.measured, profile.version)) return profile;
  }
  Profile profile;
  profile.machine = this_machine();
  profile.cores = static_cast<int>(allowed_cores().size());
  profile.version = LOCKSTEP_VERSION;
  say("measuring operations between two threads and between two MPI ranks (a few seconds)");
  refine_tables(profile, say);
  profile.measured = time_text();
  write_profile(path, profile);
  return profile;
}

Predictor make_predictor(const RunConfig& config, const std::string& profile_file,
                         const std::string& cluster, const SimulateOptions& how, const Say& say) {
  Predictor p;
  p.own = profile_file.empty();
  p.profile = p.own ? machine_profile(false, say) : read_profile(profile_file);
  p.cluster = find_cluster(cluster, p.profile);
  p.data = load_data(config.data, static_cast<uint64_t>(config.seed), say);
  p.how = how;
  return p;
}

Prediction Predictor::predict(const SimulatedPoint& point) {
  const RankMemory memory = memory_of(point, data);
  expect_to_fit(point, memory, cluster);
  const size_t known = profile.networks.size();
  costs_for(point, data, profile, own);
  if (own && profile.networks.size() > known) write_profile(profile_path(), profile);
  Prediction prediction = simulate_point(point, data, profile, cluster, how);
  if (cluster.disturbance.fails_at > 0)
    account_for_failure(prediction, point.config, cluster.disturbance, checkpoint_seconds(memory));
  return prediction;
}

Cluster find_cluster(const std::string& name_or_path, const Profile& profile) {
  if (name_or_path == "this")
    return machine_cluster(profile.machine, profile.cores, memory_of_machine());
  std::vector<std::string> names = {"this"};
  std::string text;
  for (const ShippedCluster& cluster : shipped_clusters()) {
    names.push_back(cluster.name);
    if (cluster.name == name_or_path) text = cluster.text;
  }
  if (text.empty() && fs::is_regular_file(name_or_path)) text = read_text(name_or_path);
  if (text.empty() && name_or_path.find_first_of("./") != std::string::npos)
    throw UserError("cannot read the cluster {}: no such file, or it is empty", name_or_path);
  if (text.empty())
    throw UserError("'{}' is neither a cluster that comes with lockstep nor a file; {}",
                    name_or_path, suggestion(name_or_path, names));
  Cluster cluster = parse_cluster(text, name_or_path);
  if (cluster.name.empty()) cluster.name = fs::path(name_or_path).stem().string();
  return cluster;
}

}  // namespace lockstep
