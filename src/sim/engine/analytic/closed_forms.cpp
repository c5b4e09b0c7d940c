#include "sim/engine/analytic/closed_forms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "comm/algorithms/all_reduce.h"
#include "comm/algorithms/broadcast.h"
#include "comm/algorithms/reduce.h"
#include "comm/algorithms/swap.h"

namespace lockstep {
namespace {

double segments_of(double bytes, double segment) {
  return std::max(1.0, std::ceil(bytes / segment));
}

// Of the nodes in use, in bytes per second. Nodes usually send and receive at the same time.
double slowest_link(const SimulatedJob& job) {
  double slowest = std::numeric_limits<double>::max();
  for (int node = 0; node <= job.nodes.back(); ++node)
    slowest = std::min({slowest, job.cluster.download_of(node), job.cluster.upload_of(node)});
  return job.cluster.duplex == Duplex::half ? slowest / 2 : slowest;
}

int levels(int64_t count) { return std::bit_width(static_cast<uint64_t>(count - 1)); }

}  // namespace

double slowest_speed(const SimulatedJob& job) {
  double speed = std::numeric_limits<double>::max();
  for (int node = 0; node <= job.nodes.back(); ++node)
    speed = std::min(speed, job.cluster.speed_of(node));
  return speed;
}

ClosedForms::ClosedForms(const SimulatedJob& job)
    : job_(job),
      local_(job.profile.mpi),
      ranks_(static_cast<int64_t>(job.nodes.size())),
      nodes_(job.nodes.back() + 1),
      per_node_(std::count(job.nodes.begin(), job.nodes.end(), job.nodes[0])),
      speed_(slowest_speed(job)),
      slowest_link_(slowest_link(job)) {}

bool ClosedForms::is_power_of_two() const {
  return std::has_single_bit(static_cast<uint64_t>(ranks_));
}

bool ClosedForms::has_uplinks() const {
  return job_.cluster.topology == Topology::tree && nodes_ > job_.cluster.leaf;
}

// In a torus messages take the first dimension first, in the shorter direction.
double ClosedForms::busiest_way() const {
  const Cluster& c = job_.cluster;
  if (c.topology != Topology::torus) return 1;
  size_t last = 0;
  int64_t plane = 1;
  while (last + 1 < c.shape.size() && plane * c.shape[last] < nodes_) plane *= c.shape[last++];
  const int64_t planes = (nodes_ + plane - 1) / plane;
  const int64_t side = std::min<int64_t>(planes - 1, c.shape[last] / 2);
  return std::min(1.0, static_cast<double>(side * plane) / static_cast<double>(nodes_ - 1));
}

double ClosedForms::seconds(const Round& round) const {
  return round.latency + round.transfer + round.processor / speed_;
}

Round ClosedForms::by_threads(Collective operation, double bytes) const {
  const auto found = job_.profile.threads.find(to_text(operation));
  return {0, 0, found == job_.profile.threads.end() ? 0 : found->second.at(bytes), 1};
}

Round ClosedForms::local(Collective operation, double bytes) const {
  return {local_.latency(), 0, local_.receive(operation, bytes), 1};
}

Round ClosedForms::local_part(Collective operation, double whole, double part) const {
  return {local_.latency(), 0, local_.receive_part(operation, whole, part), 1};
}

Round ClosedForms::remote(int64_t distance, double bytes, double flows) const {
  const Cluster& c = job_.cluster;
  const double converting = compressed_ ? 2 * local_.add(bytes) : 0;
  if (compressed_) bytes /= 2;
  Round round{c.link.latency, bytes * flows / slowest_link_, c.message_cpu * bytes + converting, 1};
  if (c.topology == Topology::tree && distance >= c.leaf) {
    round.latency += c.uplink.latency;
    round.transfer = std::max(
        round.transfer,
        bytes * flows * std::min<double>(c.leaf, static_cast<double>(nodes_)) / c.uplink.bandwidth);
  }
  if (c.topology == Topology::fat_tree && distance >= c.leaf)
    round.transfer *= std::max(1.0, static_cast<double>(c.leaf) / c.spines);
  if (c.topology == Topology::torus) {
    const double hops = std::min<double>(static_cast<double>(distance), c.shape[0] / 2.0);
    round.latency *= std::max(1.0, hops);
    round.transfer *= std::max(1.0, hops);  // every link on the route carries `hops` flows
  }
  return round;
}

Round ClosedForms::farthest(double bytes) const {
  Round round = remote(1, bytes, 1);
  if (!has_uplinks()) return round;
  round.latency += job_.cluster.uplink.latency;
  round.transfer =
      std::max(round.transfer, bytes / (compressed_ ? 2 : 1) / job_.cluster.uplink.bandwidth);
  return round;
}

Round ClosedForms::between(int64_t from, int64_t to, double bytes, double flows) const {
  const auto leaf = [&](int64_t node) {
    return has_uplinks() ? node / job_.cluster.leaf : int64_t{0};
  };
  Round round = leaf(from) == leaf(to) ? remote(1, bytes, 1) : farthest(bytes);
  round.transfer *= flows;
  return round;
}

Round ClosedForms::with_adding(Round round, double part, Then then) const {
  if (then == Then::replace) return round;
  round.latency *= segments_of(part, swap_segment);
  round.processor += local_.add(part);
  return round;
}

Round ClosedForms::exchange(Collective operation, double whole, int64_t distance, double part,
                            Then then) const {
  const Round round = distance < per_node_
                          ? local_part(operation, whole, part)
                          : remote(distance / per_node_, part, static_cast<double>(per_node_));
  return with_adding(round, part, then);
}

std::vector<Round> ClosedForms::doubling(double bytes) const {
  if (!is_power_of_two()) return {doubling_in_pairs(bytes)};
  std::vector<Round> rounds;
  for (int64_t distance = 1; distance < ranks_; distance *= 2)
    rounds.push_back(exchange(Collective::all_reduce, bytes, distance, bytes, Then::add));
  return rounds;
}

// The first pairs of ranks begin and end as one, while others exchange data already. ready[i]: when
// the rank at place i has its sum so far. About half of a node's ranks have their peer elsewhere.
Round ClosedForms::doubling_in_pairs(double bytes) const {
  const auto most = std::bit_floor(static_cast<size_t>(ranks_));
  const size_t pairs = static_cast<size_t>(ranks_) - most;
  const auto rank_at = [&](size_t place) { return place < pairs ? 2 * place : place + pairs; };
  const Round inside = local_part(Collective::all_reduce, bytes, bytes);
  const auto step = [&](size_t a, size_t b, Then then) {
    const int near = job_.nodes[std::min(a, b)], far = job_.nodes[std::max(a, b)];
    const double flows = std::ceil(static_cast<double>(per_node_) / 2);
    return with_adding(near == far ? inside : remote(far - near, bytes, flows), bytes, then);
  };
  const auto on_wire = [](const Round& round) { return round.latency + round.transfer; };
  const auto on_core = [&](const Round& round) { return round.processor / speed_; };
  std::vector<double> ready(most);
  for (size_t place = 0; place < pairs; ++place)
    ready[place] = seconds(step(2 * place, 2 * place + 1, Then::add));
  for (size_t distance = 1; distance < most; distance *= 2) {
    std::vector<double> next(most);
    for (size_t place = 0; place < most; ++place) {
      const size_t other = place ^ distance;
      const Round round = step(rank_at(place), rank_at(other), Then::add);
      next[place] = std::max(ready[place], ready[other] + on_wire(round)) + on_core(round);
    }
    ready = std::move(next);
  }
  for (size_t place = 0; place < pairs; ++place)
    ready[place] += seconds(step(2 * place, 2 * place + 1, Then::replace));
  return {std::ranges::max(ready), 0, 0, 1};
}

std::vector<Round> ClosedForms::halving(Collective operation, double whole, double part,
                                        int64_t members, int64_t stride) const {
  std::vector<Round> rounds;
  for (int64_t distance = 1; distance < members; distance *= 2)
    rounds.push_back(exchange(operation, whole, distance * stride, part /= 2, Then::add));
  for (int64_t distance = members / 2; distance >= 1; distance /= 2, part *= 2)
    rounds.push_back(exchange(operation, whole, distance * stride, part, Then::replace));
  return rounds;
}

// One message leaves and one enters each node. Large messages wait for their receiver, so the
// slowest hop sets the pace. Small ones are sent at once, so the average hop around the ring does.
Round ClosedForms::ring_step(Collective operation, double whole, double part, Then then) const {
  const Round inside = with_adding(local_part(operation, whole, part), part, then);
  if (nodes_ == 1) return inside;
  const Round out = with_adding(remote(1, part, 1), part, then);
  const Round across = with_adding(farthest(part), part, then);
  if (part >= eager_bytes) {
    const Round& slow = has_uplinks() ? across : out;
    return per_node_ == 1 || seconds(slow) > seconds(inside) ? slow : inside;
  }
  const double crossings =
      has_uplinks() ? std::ceil(static_cast<double>(nodes_) / job_.cluster.leaf) : 0;
  const double way = static_cast<double>(ranks_ - nodes_) * seconds(inside) +
                     (static_cast<double>(nodes_) - crossings) * seconds(out) +
                     crossings * seconds(across);
  return {std::max({way / static_cast<double>(ranks_), out.transfer, out.processor / speed_}), 0, 0,
          1};
}

std::vector<Round> ClosedForms::ring(double bytes) const {
  const double part = bytes / static_cast<double>(ranks_);
  Round adding = ring_step(Collective::all_reduce, bytes, part, Then::add);
  Round copying = ring_step(Collective::all_reduce, bytes, part, Then::replace);
  adding.times = copying.times = ranks_ - 1;
  return {adding, copying};
}

// A ring within each node, all-reduces of one part per rank between nodes, a ring within each node.
std::vector<Round> ClosedForms::by_node(double bytes) const {
  const double part = bytes / static_cast<double>(per_node_);
  const auto inside = [&](Then then) {
    Round round = exchange(Collective::all_reduce, bytes, 1, part, then);
    round.times = per_node_ - 1;
    return round;
  };
  const auto between_nodes = [&](int64_t distance, double size, Then then) {
    return exchange(Collective::all_reduce, bytes, distance * per_node_, size, then);
  };
  std::vector<Round> rounds{inside(Then::add)};
  switch (all_reduce_way(nodes_, 1, static_cast<size_t>(part))) {
    case AllReduceWay::doubling:
      for (int64_t distance = 1; 2 * distance <= nodes_; distance *= 2)
        rounds.push_back(between_nodes(distance, part, Then::add));
      break;
    case AllReduceWay::halving:
      for (const Round& round : halving(Collective::all_reduce, bytes, part, nodes_, per_node_))
        rounds.push_back(round);
      break;
    default:
      for (const Then then : {Then::add, Then::replace}) {
        rounds.push_back(between_nodes(1, part / static_cast<double>(nodes_), then));
        rounds.back().times = nodes_ - 1;
      }
  }
  rounds.push_back(inside(Then::replace));
  return rounds;
}

std::vector<Round> ClosedForms::all_reduce(double bytes) const {
  if (ranks_ == 1) return {};
  if (job_.backend == Backend::threads) return {by_threads(Collective::all_reduce, bytes)};
  const int64_t uniform = nodes_ * per_node_ == ranks_ ? per_node_ : 0;
  switch (all_reduce_way(ranks_, uniform, static_cast<size_t>(bytes))) {
    case AllReduceWay::doubling:
      return doubling(bytes);
    case AllReduceWay::halving:
      return halving(Collective::all_reduce, bytes, bytes, ranks_, 1);
    case AllReduceWay::by_node:
      return by_node(bytes);
    case AllReduceWay::ring:
      break;
  }
  return ring(bytes);
}

std::vector<Round> ClosedForms::rounded(Form form, double bytes, double exact) const {
  ClosedForms in_16_bits = *this;
  in_16_bits.compressed_ = true;
  std::vector<Round> rounds = (in_16_bits.*form)(bytes - exact);
  if (!rounds.empty()) rounds.back().processor += 2 * pass(bytes);  // the result is rounded
  if (exact > 0)
    for (const Round& round : (this->*form)(exact)) rounds.push_back(round);
  return rounds;
}

// Segments are forwarded from rank to rank towards the root; the slowest hop sets the pace. Those
// that follow another have no latency of their own; within a node, two are in flight.
Round ClosedForms::reduce_chain(double bytes) const {
  const double segment = std::min<double>(bytes, chain_segment);
  const double segments = segments_of(bytes, chain_segment);
  double fill = 0, pace = 0;
  for (size_t rank = 1; rank < job_.nodes.size(); ++rank) {
    const int near = job_.nodes[rank - 1], far = job_.nodes[rank];
    Round hop = near == far ? local_part(Collective::reduce, bytes, segment)
                            : between(near, far, segment, 1);
    hop.processor += local_.add(segment);
    fill += seconds(hop);
    pace = std::max({pace, near == far ? seconds(hop) / 2 : hop.transfer, hop.processor / speed_});
  }
  return {fill + (segments - 1) * pace, 0, 0, 1};
}

// Whole arrays are sent up a tree. complete[r]: when rank r has the sum of the ranks below it.
Round ClosedForms::reduce_tree(double bytes) const {
  std::vector<double> complete(static_cast<size_t>(ranks_));
  for (size_t distance = 1; distance < complete.size(); distance *= 2)
    for (size_t to = 0; to + distance < complete.size(); to += 2 * distance) {
      const int near = job_.nodes[to], far = job_.nodes[to + distance];
      const Round step =
          near == far ? local_part(Collective::reduce, bytes, bytes) : between(near, far, bytes, 1);
      complete[to] = std::max(complete[to], complete[to + distance]) +
                     seconds(with_adding(step, bytes, Then::add));
    }
  return {complete[0], 0, 0, 1};
}

// Powers of two take the steps of an all-reduce, but in the second half ranks only send towards the
// root.
std::vector<Round> ClosedForms::reduce(double bytes) const {
  if (ranks_ == 1) return {};
  if (job_.backend == Backend::threads) return {by_threads(Collective::reduce, bytes)};
  switch (reduce_way(ranks_, static_cast<size_t>(bytes))) {
    case ReduceWay::halving:
      return halving(Collective::reduce, bytes, bytes, ranks_, 1);
    case ReduceWay::chain:
      return {reduce_chain(bytes)};
    case ReduceWay::tree:
      break;
  }
  return {reduce_tree(bytes)};
}

Round ClosedForms::binomial_broadcast(double bytes) const {
  std::vector<double> heard(static_cast<size_t>(ranks_));
  const double inside = seconds(local(Collective::broadcast, bytes));
  for (size_t from = 0; from < heard.size(); ++from) {
    size_t distance = from == 0 ? std::bit_ceil(heard.size()) : from & -from;
    std::vector<size_t> children;
    double flows = 0;
    while ((distance /= 2) >= 1)
      if (from + distance < heard.size()) {
        children.push_back(from + distance);
        flows += job_.nodes[from] != job_.nodes[children.back()];
      }
    for (const size_t to : children) {
      const int near = job_.nodes[from], far = job_.nodes[to];
      heard[to] = heard[from] + (near == far ? inside : seconds(between(near, far, bytes, flows)));
    }
  }
  return {std::ranges::max(heard), 0, 0, 1};
}

std::vector<Round> ClosedForms::broadcast(double bytes) const {
  if (ranks_ == 1) return {};
  if (job_.backend == Backend::threads) return {by_threads(Collective::broadcast, bytes)};
  const BroadcastWay way = broadcast_way(ranks_, static_cast<size_t>(bytes));
  if (way == BroadcastWay::binomial) return {binomial_broadcast(bytes)};
  // Number of times a segment is forwarded within nodes, between them and over uplinks, and number
  // of copies that the root's node sends.
  const auto leaves =
      has_uplinks() ? (nodes_ + job_.cluster.leaf - 1) / job_.cluster.leaf : int64_t{1};
  double inside = static_cast<double>(ranks_ - nodes_), outside = static_cast<double>(nodes_ - 1);
  double across = static_cast<double>(leaves - 1), copies = 1;
  if (way == BroadcastWay::binary) {
    inside = levels(per_node_);
    outside = levels(nodes_);
    across = levels(leaves);
    copies = per_node_ > 1 ? outside : 2;
  }
  const double segment = broadcast_segment;
  std::vector<Round> rounds;
  if (nodes_ == 1) {
    rounds.push_back(local(Collective::broadcast, bytes));
    inside -= 1;
  } else {
    Round last = remote(1, bytes, std::max(1.0, copies * busiest_way()));
    const Round hop = remote(1, segment, way == BroadcastWay::binary ? 2 : 1);
    last.latency += (outside - 1) * (hop.latency + hop.transfer + hop.processor);
    if (has_uplinks()) {
      last.latency += across * job_.cluster.uplink.latency;
      last.transfer = std::max(last.transfer, bytes / job_.cluster.uplink.bandwidth);
    }
    rounds.push_back(last);
  }
  rounds.push_back({inside * seconds(local_part(Collective::broadcast, bytes, segment)), 0, 0, 1});
  return rounds;
}

std::vector<Round> ClosedForms::all_to_one(double bytes, Collective operation) const {
  if (ranks_ == 1) return {};
  if (job_.backend == Backend::threads) return {by_threads(operation, bytes)};
  std::vector<Round> rounds;
  if (per_node_ > 1) {
    rounds.push_back(local(operation, bytes));
    rounds.back().processor *= static_cast<double>(per_node_ - 1);
  }
  if (nodes_ == 1) return rounds;
  Round outside = remote(1, bytes, busiest_way() * static_cast<double>(ranks_ - per_node_));
  if (has_uplinks()) {
    const auto beyond = static_cast<double>(ranks_ - per_node_ * job_.cluster.leaf);
    outside.latency += job_.cluster.uplink.latency;
    outside.transfer = std::max(outside.transfer, beyond * bytes / job_.cluster.uplink.bandwidth);
  }
  rounds.push_back(outside);
  return rounds;
}

double ClosedForms::beyond_the_last_switch() const {
  if (!has_uplinks()) return 0;
  const int leaf = job_.cluster.leaf, last = job_.nodes.back() / leaf;
  return static_cast<double>(
      std::ranges::count_if(job_.nodes, [&](int node) { return node / leaf != last; }));
}

ClosedForms::Served ClosedForms::served(double pushed, double pulled, double shard,
                                        const ServerCosts& costs) const {
  const auto servers = static_cast<double>(costs.servers);
  const double workers = static_cast<double>(ranks_) - servers, floats = pulled / sizeof(float);
  const auto on_last_node =
      static_cast<double>(std::count(job_.nodes.begin(), job_.nodes.end(), job_.nodes.back()));
  const double near = std::max(0.0, on_last_node - servers), far = workers - near;
  const auto inside = [&](double bytes) {
    const double whole = shard * bytes / pulled;
    if (job_.backend == Backend::mpi) return local_part(Collective::receive, whole, bytes);
    Round round = by_threads(Collective::receive, whole);
    round.processor *= bytes / whole;
    return round;
  };
  const Round near_push = inside(pushed), far_push = farthest(pushed);
  const Round pull = far > 0 ? farthest(pulled) : inside(pulled);
  // A server's link carries the messages of all workers, a worker's link those of all servers; an
  // uplink those of the workers behind other switches.
  const double flows = std::max(far, servers), behind_uplinks = beyond_the_last_switch();
  const auto on_links = [&](double bytes) {
    if (far <= 0) return 0.0;
    const double own = flows * remote(1, bytes, 1).transfer;
    return behind_uplinks > 0
               ? std::max(own, behind_uplinks * bytes / job_.cluster.uplink.bandwidth)
               : own;
  };
  const double unpacking = pushed < pulled ? workers * pass(pulled) : 0;
  const double server = near * near_push.processor + far * far_push.processor + unpacking +
                        (workers - 1) * costs.add_per_float * floats +
                        costs.update_per_float * floats;
  return {.latency = pull.latency,
          .in = on_links(pushed),
          .out = on_links(pulled),
          .server = server / speed_,
          .worker = pull.processor};
}

std::vector<Round> ClosedForms::meeting() const {
  if (job_.backend == Backend::threads) return {by_threads(Collective::barrier, 64)};
  std::vector<Round> rounds;
  if (per_node_ > 1) rounds.push_back({local_.latency(), 0, 0, levels(per_node_)});
  if (nodes_ > 1) rounds.push_back({job_.cluster.link.latency, 0, 0, levels(nodes_)});
  return rounds;
}

}  // namespace lockstep
