#include "sim/point/point_costs.h"

#include <algorithm>

namespace lockstep {

namespace {

constexpr double usual_median = 1.1;  // median over undisturbed step, on an idle machine

}  // namespace

SimulatedPoint with_threads(SimulatedPoint point, int threads) {
  point.config.device.threads = threads;
  return point;
}

RunConfig measured_config(const SimulatedPoint& point) {
  RunConfig config = point.config;
  config.device.threads = point.threads();
  return config;
}

std::string key_of(const SimulatedPoint& point, const DataSplits& data) {
  return network_key(measured_config(point), data.train->sample_shape(),
                     shares_of(point, data).micro_batch);
}

bool has_too_few_cores(const Profile& profile, const SimulatedPoint& point) {
  return point.threads() > profile.cores;
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
  // Ranks with one thread show how ranks contend, ranks with all threads the gain from threads.
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
  // Extrapolated costs include the contention of ranks with one thread.
  const int measured =
      has_too_few_cores(profile_, point_) ? profile_.cores : profile_.cores / threads;
  StepCost cost = cost_on_node(costs_, measured, here.on_socket[rank],
                               std::max(1, kind.cores / kind.sockets / threads));
  cost.scale_arithmetic(here.sharing[rank]);
  if (!costs_.quietness.quiet()) {  // medians of a busy machine say little
    cost.typical = std::min(cost.typical, usual_median);
    cost.low = 1;
  }
  return cost;
}

StepCost PointCosts::of_rank(int rank) {
  StepCost cost = at(rank / point_.per_node, rank % point_.per_node);
  if (rank >= training_ranks_ && cost.whole_update > 0)  // a server updates all rows
    cost.update = cost.whole_update * static_cast<double>(costs_.parameters);
  return cost;
}

StepCost PointCosts::of_slowest_rank(int node) { return at(node, places(node).slowest()); }

}  // namespace lockstep
