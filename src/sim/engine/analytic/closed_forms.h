#pragma once

#include <vector>

#include "sim/engine/analytic/analytic.h"
#include "sim/profile/local_costs.h"

namespace lockstep {

// Messages that all ranks send at the same time, and the cost of receiving one.
struct Round {
  double latency = 0, transfer = 0;  // seconds
  double processor = 0;              // seconds on a core of speed 1
  int64_t times = 1;                 // number of repetitions, in turn
};

double slowest_speed(const SimulatedJob& job);  // of the job's nodes

// Durations of the operations of a job's ranks, as seen by the last rank to finish.
class ClosedForms {
 public:
  explicit ClosedForms(const SimulatedJob& job);

  int64_t ranks() const { return ranks_; }

  std::vector<Round> all_reduce(double bytes) const;
  // An all-reduce or reduce in 16 bits between nodes, except the last `exact` bytes.
  using Form = std::vector<Round> (ClosedForms::*)(double bytes) const;
  std::vector<Round> rounded(Form form, double bytes, double exact) const;
  double pass(double bytes) const { return local_.add(bytes); }  // seconds, over memory
  std::vector<Round> reduce(double bytes) const;
  std::vector<Round> broadcast(double bytes) const;
  // The root receives from (or sends to) all ranks in turn, through its network card.
  std::vector<Round> all_to_one(double bytes, Collective operation) const;
  std::vector<Round> meeting() const;

  // All workers push a segment of a shard of `shard` bytes to a synchronous server and pull its
  // weights. Seconds: latency of a message, gradients and weights on the busiest link, work of the
  // server; work of a worker on a core of speed 1.
  struct Served {
    double latency = 0, in = 0, out = 0, server = 0, worker = 0;
  };
  Served served(double pushed, double pulled, double shard, const ServerCosts& costs) const;

 private:
  bool is_power_of_two() const;
  bool has_uplinks() const;               // some pairs of nodes communicate over uplinks
  double beyond_the_last_switch() const;  // ranks, in a tree
  double busiest_way() const;  // share of all messages to a node that its busiest link carries
  double seconds(const Round& round) const;
  Round by_threads(Collective operation, double bytes) const;
  Round local(Collective operation, double bytes) const;
  // `part` of the `whole` bytes of an operation, sent within a node.
  Round local_part(Collective operation, double whole, double part) const;
  // Messages of `flows` ranks share a node's network card, to the node at this distance.
  Round remote(int64_t distance, double bytes, double flows) const;
  // One message at a time, between the nodes that are farthest apart.
  Round farthest(double bytes) const;
  Round between(int64_t from, int64_t to, double bytes, double flows) const;
  // Each rank exchanges `part` bytes with the rank at this distance.
  enum class Then { replace, add };
  Round exchange(Collective operation, double whole, int64_t distance, double part,
                 Then then) const;
  Round ring_step(Collective operation, double whole, double part, Then then) const;
  // Elements to add are received segment by segment; each segment pays the latency.
  Round with_adding(Round round, double part, Then then) const;
  std::vector<Round> doubling(double bytes) const;
  Round doubling_in_pairs(double bytes) const;
  // `part` of `whole` bytes on `members` ranks, `stride` ranks apart.
  std::vector<Round> halving(Collective operation, double whole, double part, int64_t members,
                             int64_t stride) const;
  std::vector<Round> ring(double bytes) const;
  std::vector<Round> by_node(double bytes) const;
  Round reduce_chain(double bytes) const;
  Round reduce_tree(double bytes) const;
  Round binomial_broadcast(double bytes) const;

  const SimulatedJob& job_;
  LocalCosts local_;
  int64_t ranks_, nodes_, per_node_;
  double speed_;             // of the slowest node
  double slowest_link_;      // bytes per second
  bool compressed_ = false;  // messages to other nodes are
};

}  // namespace lockstep
