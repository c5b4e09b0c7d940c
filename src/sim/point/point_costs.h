#pragma once

#include <map>
#include <tuple>

#include "parallel/strategy.h"
#include "sim/point/node_affinity.h"
#include "sim/point/point.h"
#include "sim/profile/profile.h"

namespace lockstep {

// Costs of the point's network, which the profile must contain.
NetworkCosts known_costs(const SimulatedPoint& point, const DataSplits& data,
                         const Profile& profile);

// Key of the point's network in the profile, and the configuration to measure for it: with the
// number of threads that compute at the same time.
std::string key_of(const SimulatedPoint& point, const DataSplits& data);
RunConfig measured_config(const SimulatedPoint& point);
SimulatedPoint with_threads(SimulatedPoint point, int threads);

// Whether the profile's machine has fewer cores than a rank has threads: costs are extrapolated.
bool has_too_few_cores(const Profile& profile, const SimulatedPoint& point);
// Measured scaling of the point's network with threads.
ThreadScaling known_scaling(const SimulatedPoint& point, const DataSplits& data,
                            const Profile& profile);

// Costs of a step for each rank of a point, depending on where it runs.
class PointCosts {
 public:
  PointCosts(const SimulatedPoint& point, const NetworkCosts& costs, const Profile& profile,
             const Cluster& cluster)
      : point_(point),
        costs_(costs),
        profile_(profile),
        cluster_(cluster),
        training_ranks_(training_replicas(point.config.parallel,
                                          static_cast<int>(point.config.parallel.ranks)) *
                        point.config.parallel.pipeline) {}

  StepCost of_rank(int rank);
  StepCost of_slowest_rank(int node);
  const NodePlaces& places(int node);

 private:
  StepCost at(int node, int rank_of_node);

  const SimulatedPoint& point_;
  const NetworkCosts& costs_;
  const Profile& profile_;
  const Cluster& cluster_;
  int64_t training_ranks_;
  std::map<std::tuple<int, int, int, int>, NodePlaces> places_;  // most nodes are the same
};

}  // namespace lockstep
