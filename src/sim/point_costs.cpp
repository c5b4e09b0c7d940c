#include "sim/point_costs.h"

#include <algorithm>

#include "base/error.h"
#include "sim/measure.h"

namespace lockstep {
namespace {

constexpr double measuring_seconds = 1.5;
constexpr double usual_median = 1.1;  // of steps over undisturbed ones, on a machine left alone

SimulatedPoint with_threads(SimulatedPoint point, int threads) {
  point.config.device.threads = threads;
  return point;
}

// The configuration that is measured: threads that can compute at once.
RunConfig measured_config(const SimulatedPoint& point) {
  RunConfig config = point.config;
  config.device.threads = point.threads();
  return config;
}

std::string key_of(const SimulatedPoint& point, const DataSplits& data) {
  return network_key(measured_config(point), data.train->sample_shape(),
                     shares_of(point, data).micro_batch);
}

NetworkCosts measure_now(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                         double seconds, int attempts, const ObservedMachine& machine) {
  DisturbanceWatch watch(machine, profile.arithmetic);
  NetworkCosts best, last;
  measure_undisturbed(
      watch, attempts,
      [&] {
        // Where cores are is of no use, and waiting for it long, while programs take turns on them.
        const NearCores near(watch.began_busy() ? std::map<std::string, SizeTable>()
                                                : profile.threads);
        last = measure_costs(measured_config(point), data, shares_of(point, data).micro_batch,
                             profile.cores, near, seconds);
        last.measured = time_text();
        return last.spread();
      },
      [&](const Quietness& quietness) {
        last.quietness = quietness;
        if (best.by_ranks.empty())
          best = last;
        else
          best.keep_better(last);
      });
  profile.arithmetic = watch.quickest();
  ++profile.new_measurements;
  return best;
}

}  // namespace

bool has_too_few_cores(const Profile& profile, const SimulatedPoint& point) {
  return point.threads() > profile.cores;
}

NetworkCosts costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                       Measuring measuring, int attempts, const ObservedMachine& machine) {
  if (has_too_few_cores(profile, point)) {
    if (profile.cores == 1)
      throw UserError(
          "{} threads per rank: {} has one core, so how a rank gains from threads cannot be "
          "measured; use --threads 1, or --profile of a machine with more cores",
          point.threads(), profile.machine);
    for (const int threads : {1, profile.cores})
      costs_for(with_threads(point, threads), data, profile, measuring, attempts, machine);
    return known_costs(point, data, profile);
  }
  const std::string key = key_of(point, data);
  const auto found = profile.networks.find(key);
  const bool known = found != profile.networks.end();
  if (measuring == Measuring::never) {
    if (known) return found->second;
    const int64_t rows = shares_of(point, data).micro_batch;
    throw UserError(
        "the profile of {} has no times for this network with {} rows and {} thread{}; make it "
        "there with 'lockstep calibrate {} --batch {} --threads {}'",
        profile.machine, rows, point.threads(), point.threads() == 1 ? "" : "s", point.config.name,
        rows, point.threads());
  }
  const bool is_old = known && is_stale(found->second.measured, profile.version);
  const bool is_clean = known && found->second.quietness.quiet();
  if (measuring == Measuring::where_needed && known && !is_old &&
      (is_clean || !is_quiet_now(machine, profile.arithmetic)))
    return found->second;
  keep_measured(profile, key,
                measure_now(point, data, profile, measuring_seconds, attempts, machine), measuring);
  return profile.networks.at(key);
}

void keep_measured(Profile& profile, const std::string& key, const NetworkCosts& measured,
                   Measuring measuring) {
  if (const auto found = profile.networks.find(key); found != profile.networks.end()) {
    const NetworkCosts& known = found->second;
    const bool forget = measuring == Measuring::again || is_stale(known.measured, profile.version);
    if (forget && (measured.quietness.quiet() || !known.quietness.quiet()))
      profile.networks.erase(found);
  }
  keep_better(profile.networks, key, measured);
}

void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds) {
  if (has_too_few_cores(profile, point))
    throw UserError("{} threads per rank cannot be measured on {} cores; use at most {}",
                    point.threads(), profile.cores, profile.cores);
  keep_better(profile.networks, key_of(point, data),
              measure_now(point, data, profile, seconds, 1, ThisMachine()));
}

ThreadScaling known_scaling(const SimulatedPoint& point, const DataSplits& data,
                            const Profile& profile) {
  return thread_scaling(known_costs(with_threads(point, 1), data, profile),
                        known_costs(with_threads(point, profile.cores), data, profile),
                        profile.cores);
}

NetworkCosts known_costs(const SimulatedPoint& point, const DataSplits& data,
                         const Profile& profile) {
  if (!has_too_few_cores(profile, point)) return profile.networks.at(key_of(point, data));
  // Ranks of one thread tell how ranks contend, ranks of all threads what threads gain.
  NetworkCosts costs = known_costs(with_threads(point, 1), data, profile);
  const Quietness& of_threads =
      known_costs(with_threads(point, profile.cores), data, profile).quietness;
  if (!of_threads.quiet() && of_threads.slowdown > costs.quietness.slowdown)
    costs.quietness = of_threads;
  const double times = known_scaling(point, data, profile).at(point.threads());
  for (auto& [ranks, cost] : costs.by_ranks) cost.scale_arithmetic(times);
  return costs;
}

const NodePlaces& PointCosts::places(int node) {
  const int64_t before = int64_t{node} * point_.per_node;
  const auto here = [&](int64_t all) {
    return static_cast<int>(std::clamp<int64_t>(all - before, 1, point_.per_node));
  };
  const int ranks = here(point_.config.parallel.ranks),
            training = std::min(ranks, here(training_ranks_));
  const NodeKind& kind = cluster_.node(node);
  const auto [found, added] =
      places_.try_emplace(std::tuple(ranks, training, kind.cores, kind.sockets));
  if (added)
    found->second = places_on_node(point_.config.parallel.affinity, kind, ranks, training,
                                   point_.config.device.threads);
  return found->second;
}

StepCost PointCosts::at(int node, int rank_of_node) {
  const NodePlaces& here = places(node);
  const auto rank = static_cast<size_t>(rank_of_node);
  const NodeKind& kind = cluster_.node(node);
  const int threads = point_.threads();
  // Extrapolated costs hold the contention of ranks of one thread.
  const int measured =
      has_too_few_cores(profile_, point_) ? profile_.cores : profile_.cores / threads;
  StepCost cost = cost_on_node(costs_, measured, here.on_socket[rank],
                               std::max(1, kind.cores / kind.sockets / threads));
  cost.scale_arithmetic(here.sharing[rank]);
  if (!costs_.quietness.quiet()) {  // how long steps took on a busy machine says little
    cost.typical = std::min(cost.typical, usual_median);
    cost.low = 1;
  }
  return cost;
}

StepCost PointCosts::of_rank(int rank) {
  return at(rank / point_.per_node, rank % point_.per_node);
}

StepCost PointCosts::of_slowest_rank(int node) { return at(node, places(node).slowest()); }

}  // namespace lockstep
