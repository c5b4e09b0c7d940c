#pragma once

#include <map>
#include <tuple>

#include "parallel/strategy.h"
#include "sim/disturbance_watch.h"
#include "sim/node_affinity.h"
#include "sim/point.h"
#include "sim/profile.h"

namespace lockstep {

// What may be done to know the costs of a point's network.
enum class Measuring {
  never,         // the profile is another machine's
  where_needed,  // what is missing, old or was disturbed
  once_more,     // the better of what is known and what is measured now is kept
  again          // what is known is replaced, unless the machine is busy
};

// Costs of the point's network on the profile's machine: from the profile, or measured now and then
// kept in it. A measurement that was disturbed is repeated, `attempts` times in all, and never
// replaces one that was not. Ranks with more threads than the machine has cores are extrapolated.
NetworkCosts costs_for(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                       Measuring measuring, int attempts = 3,
                       const ObservedMachine& machine = ThisMachine());

// Takes up a measurement of a network, as `measuring` has it.
void keep_measured(Profile& profile, const std::string& key, const NetworkCosts& measured,
                   Measuring measuring);

// Measures them once more, and keeps what is better.
void refine_costs(const SimulatedPoint& point, const DataSplits& data, Profile& profile,
                  double seconds);

// The same where they are known to be there.
NetworkCosts known_costs(const SimulatedPoint& point, const DataSplits& data,
                         const Profile& profile);

// The profile has fewer cores than threads: costs were extrapolated.
bool has_too_few_cores(const Profile& profile, const SimulatedPoint& point);
// How the point's network was measured to scale with threads.
ThreadScaling known_scaling(const SimulatedPoint& point, const DataSplits& data,
                            const Profile& profile);

// What a step costs the ranks of a point, wherever they are.
class PointCosts {
 public:
  PointCosts(const SimulatedPoint& point, const NetworkCosts& costs, const Profile& profile,
             const Cluster& cluster)
      : point_(point),
        costs_(costs),
        profile_(profile),
        cluster_(cluster),
        training_ranks_(
            training_ranks(point.config.parallel, static_cast<int>(point.config.parallel.ranks))) {}

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
  std::map<std::tuple<int, int, int, int>, NodePlaces> places_;  // most nodes are alike
};

}  // namespace lockstep
