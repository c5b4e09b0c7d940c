#pragma once

#include <vector>

#include "sim/engine/analytic/analytic.h"
#include "sim/profile/local_costs.h"

namespace lockstep {

// Messages that all ranks send at the same moment, and what an arrived one costs its receiver.
struct Round {
  double latency = 0, transfer = 0;  // seconds
  double processor = 0;
  int64_t times = 1;  // one after the other
};

double slowest_speed(const SimulatedJob& job);  // of its nodes

// How long the operations of a job's ranks take, as the rank sees it that is done last.
class ClosedForms {
 public:
  explicit ClosedForms(const SimulatedJob& job);

  int64_t ranks() const { return ranks_; }

  std::vector<Round> all_reduce(double bytes) const;
  std::vector<Round> reduce(double bytes) const;
  std::vector<Round> broadcast(double bytes) const;
  // The root takes from (or gives to) all, one after the other through its card.
  std::vector<Round> all_to_one(double bytes, Collective operation) const;
  std::vector<Round> meeting() const;

  // Synchronous servers, as the first worker sees them: a head, all pushes and the update, its own
  // pull; and how long after the update the last worker has its weights.
  struct Served {
    Round head, update, pull;
    double last_pull = 0;
  };
  Served served(double bytes, const ServerCosts& costs) const;

 private:
  bool is_power_of_two() const;
  bool has_uplinks() const;    // on the way between some of the nodes
  double busiest_way() const;  // of the links to a node: its share of what all others send
  double seconds(const Round& round) const;
  Round by_threads(Collective operation, double bytes) const;
  Round local(Collective operation, double bytes) const;
  // A part of an operation's bytes, on its way within a node.
  Round local_part(Collective operation, double whole, double part) const;
  // Over a node's card go the messages of `flows` ranks, to a node `distance` further.
  Round remote(int64_t distance, double bytes, double flows) const;
  // One message at a time, between the nodes that are farthest apart.
  Round farthest(double bytes) const;
  Round between(int64_t from, int64_t to, double bytes, double flows) const;
  // Each rank swaps a part with the one at this distance.
  Round swap(Collective operation, double whole, int64_t distance, double part) const;
  Round ring_step(Collective operation, double whole, double part) const;
  std::vector<Round> halving(Collective operation, double bytes) const;
  Round binomial_broadcast(double bytes) const;

  const SimulatedJob& job_;
  LocalCosts local_;
  int64_t ranks_, nodes_, per_node_;
  double speed_;  // of the slowest node
};

}  // namespace lockstep
