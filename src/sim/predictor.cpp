#include "sim/predictor.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cluster/named_cluster.h"
#include "data/fetch/folders.h"
#include "os/affinity.h"

namespace lockstep {
namespace {

double memory_of_machine() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<double>(::sysconf(_SC_PAGE_SIZE));
}

// Number of sockets; 1 if they have different numbers of cores.
int sockets_of_machine() {
  std::map<int, int> cores_of;
  for (const Core& core : allowed_cores()) ++cores_of[core.package];
  for (const auto& [socket, cores] : cores_of)
    if (cores != cores_of.begin()->second) return 1;
  return static_cast<int>(cores_of.size());
}

// Seconds to write a checkpoint on this machine.
double checkpoint_seconds(const RankMemory& memory) {
  const ScratchFolder scratch(profile_path().parent_path());
  const std::vector<uint8_t> content(static_cast<size_t>(memory.weights + memory.optimizer), 1);
  const WallClock clock;
  const double start = clock.seconds();
  write_file(scratch.path() / "checkpoint", content);
  return clock.seconds() - start;
}

}  // namespace

Predictor make_predictor(const RunConfig& config, const CostSource& source,
                         const std::string& cluster, const SimulateOptions& how, const Say& say) {
  Predictor p;
  p.own = source.profile_file.empty();
  p.recalibrate = source.recalibrate;
  if (p.recalibrate && !p.own)
    throw UserError(
        "--recalibrate measures this machine, but --profile {} is of another; use only one of them",
        source.profile_file);
  p.profile = p.own
                  ? machine_profile(p.recalibrate ? Measuring::again : Measuring::where_needed, say)
                  : read_profile(source.profile_file);
  p.cluster = find_cluster(cluster, p.profile);
  p.data = load_data(config.data, static_cast<uint64_t>(config.seed), say);
  p.how = how;
  p.say = say;
  return p;
}

Measuring Predictor::measuring_for(const SimulatedPoint& point) {
  if (!own) return Measuring::never;
  const std::string key =
      network_key(point.config, data.train->sample_shape(), shares_of(point, data).micro_batch);
  if (!looked_at_.insert(key).second) return Measuring::never;
  return recalibrate ? Measuring::again : Measuring::where_needed;
}

void Predictor::learn_costs(const SimulatedPoint& point) {
  const Measuring measuring = measuring_for(point);
  const std::string start = time_text();
  const int64_t before = profile.new_measurements;
  // On a machine that stays busy, repeated attempts would only take longer.
  const NetworkCosts costs = costs_for(point, data, profile, measuring, machine_is_busy_ ? 1 : 3);
  machine_is_busy_ = machine_is_busy_ || !costs.quietness.quiet();
  if (profile.new_measurements > before) write_profile(profile_path(), profile);
  if (measuring == Measuring::again && costs.measured < start)
    say(fmt::format("the machine was busy; the costs measured at {} are kept", costs.measured));
}

Prediction Predictor::predict(const SimulatedPoint& point) {
  const RankMemory memory = memory_of(point, data);
  expect_to_fit(point, memory, cluster);
  learn_costs(point);
  Prediction prediction = simulate_point(point, data, profile, cluster, how);
  if (cluster.disturbance.fails_at > 0)
    account_for_failure(prediction, point.config, cluster.disturbance, checkpoint_seconds(memory));
  return prediction;
}

Cluster find_cluster(const std::string& name_or_path, const Profile& profile) {
  if (name_or_path == this_machine_cluster)
    return machine_cluster(profile.machine, profile.cores, memory_of_machine(),
                           profile.machine == this_machine() ? sockets_of_machine() : 1);
  return named_cluster(name_or_path).cluster;
}

}  // namespace lockstep
