#include "sim/analytic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "comm/algorithms/broadcast.h"
#include "comm/backend/self.h"
#include "sim/local_costs.h"

namespace lockstep {
namespace {

class AnalyticTime final : public VirtualClock {
 public:
  explicit AnalyticTime(double speed) : speed_(speed) {}
  double seconds() const override { return now_; }
  void spend(double seconds) override { now_ += seconds / speed_; }
  void reach(double moment) { now_ = std::max(now_, moment); }

 private:
  double speed_, now_ = 0;
};

// Messages that all ranks send at the same moment, and what an arrived one costs its receiver.
struct Round {
  double latency = 0, transfer = 0;  // seconds
  double processor = 0;
  int64_t times = 1;  // one after the other
};

int levels(int64_t count) { return std::bit_width(static_cast<uint64_t>(count - 1)); }

// On the longest way down a binomial tree: how many children each one gives to, all at once.
std::vector<int> binomial_way(int64_t count) {
  std::vector<int> children;
  while (count > 1) {
    children.push_back(levels(count));
    const int64_t half = int64_t{1} << (levels(count) - 1);
    count = std::max(count - half, half / 2);
  }
  return children;
}

// The closed forms.
class Wires {
 public:
  explicit Wires(const SimulatedJob& job)
      : job_(job),
        local_(job.profile.mpi),
        ranks_(static_cast<int64_t>(job.nodes.size())),
        nodes_(job.nodes.back() + 1),
        per_node_(std::count(job.nodes.begin(), job.nodes.end(), job.nodes[0])) {}

  int64_t ranks() const { return ranks_; }

  // Each rank swaps so many bytes with the one at this distance.
  Round swap(int64_t distance, double bytes) const {
    if (distance < per_node_) return {local_.latency(), 0, local_.exchange(bytes), 1};
    return remote(distance / per_node_, bytes, static_cast<double>(per_node_));
  }
  // Over a node's card go the messages of `flows` ranks, to a node `distance` further.
  Round remote(int64_t distance, double bytes, double flows) const {
    const Cluster& c = job_.cluster;
    Round round{c.link.latency, bytes * flows / c.link.bandwidth, c.message_cpu * bytes, 1};
    if (c.topology == Topology::tree && distance >= c.leaf) {
      round.latency += c.uplink.latency;
      round.transfer = std::max(
          round.transfer, bytes * flows * std::min<double>(c.leaf, static_cast<double>(nodes_)) /
                              c.uplink.bandwidth);
    }
    if (c.topology == Topology::fat_tree && distance >= c.leaf)
      round.transfer *= std::max(1.0, static_cast<double>(c.leaf) / c.spines);
    if (c.topology == Topology::torus) {
      const double hops = std::min<double>(static_cast<double>(distance), c.shape[0] / 2.0);
      round.latency *= std::max(1.0, hops);
      round.transfer *= std::max(1.0, hops);  // every link on the way carries as many flows
    }
    return round;
  }
  double add(double bytes) const { return local_.add(bytes); }
  double thread_seconds(const std::string& operation, double bytes) const {
    const auto found = job_.profile.threads.find(operation);
    return found == job_.profile.threads.end() ? 0 : found->second.at(bytes);
  }
  bool threads() const { return job_.backend == "threads"; }

  std::vector<Round> all_reduce(double bytes) const {
    std::vector<Round> rounds;
    if (ranks_ == 1) return rounds;
    if (threads()) return {{0, 0, thread_seconds("all-reduce", bytes), 1}};
    if (std::has_single_bit(static_cast<uint64_t>(ranks_))) {
      double part = bytes;
      for (int64_t distance = 1; distance < ranks_; distance *= 2) {
        part /= 2;
        rounds.push_back(swap(distance, part));
        rounds.back().processor += add(part);
      }
      for (int64_t distance = ranks_ / 2; distance >= 1; distance /= 2, part *= 2)
        rounds.push_back(swap(distance, part));
      return rounds;
    }
    const double part = bytes / static_cast<double>(ranks_);
    Round step{local_.latency(), 0, local_.exchange(part), 1};
    if (nodes_ > 1) {  // one message leaves and one enters each node; the slowest sets the pace
      const Cluster& c = job_.cluster;
      Round out = remote(1, part, 1);
      if (c.topology == Topology::tree &&
          nodes_ > c.leaf) {  // on its way a part crosses each switch
        const double leaves = std::ceil(static_cast<double>(nodes_) / c.leaf);
        out.latency += c.uplink.latency * leaves / static_cast<double>(nodes_);
        out.transfer = std::max(out.transfer, part / c.uplink.bandwidth);
      }
      const double local = step.latency + step.processor;
      if (out.latency + out.transfer + out.processor > local || per_node_ == 1) step = out;
    }
    step.times = ranks_ - 1;
    rounds.push_back(step);
    rounds.back().processor += add(part);
    rounds.push_back(step);
    return rounds;
  }

  // Powers of two take the steps of an all-reduce; of the last ones only those towards the root.
  std::vector<Round> reduce(double bytes) const {
    if (ranks_ == 1) return {};
    if (threads()) return {{0, 0, thread_seconds("reduce", bytes), 1}};
    if (std::has_single_bit(static_cast<uint64_t>(ranks_))) return all_reduce(bytes);
    std::vector<Round> rounds;  // of a tree, whole arrays
    const auto level = [&](Round round, int times) {
      round.processor += add(bytes);
      round.times = times;
      if (times > 0) rounds.push_back(round);
    };
    level({local_.latency(), 0, local_.exchange(bytes), 1}, levels(per_node_));
    level(remote(1, bytes, 1), levels(nodes_));
    return rounds;
  }

  // broadcast_by_messages(), as the rank that hears last sees it.
  std::vector<Round> broadcast(double bytes) const {
    if (ranks_ == 1) return {};
    if (threads()) return {{0, 0, thread_seconds("broadcast", bytes), 1}};
    const BroadcastWay way = broadcast_way(ranks_, static_cast<size_t>(bytes));
    std::vector<Round> rounds;
    if (way == BroadcastWay::binomial) {
      for (const int children : binomial_way(nodes_)) rounds.push_back(remote(1, bytes, children));
      for (size_t i = 0; i < binomial_way(per_node_).size(); ++i)
        rounds.push_back({local_.latency(), 0, local_.of("broadcast", bytes), 1});
      return rounds;
    }
    // How many times a piece is passed on, within nodes and between them, and how many copies the
    // root's node sends.
    double inside = static_cast<double>(ranks_ - nodes_), between = static_cast<double>(nodes_ - 1);
    double copies = 1;
    if (way == BroadcastWay::binary) {
      inside = levels(per_node_);
      between = levels(nodes_);
      copies = per_node_ > 1 ? between : 2;
    }
    const double piece = broadcast_piece;
    if (nodes_ == 1) {
      rounds.push_back({local_.latency(), 0, local_.of("broadcast", bytes), 1});
      inside -= 1;
    } else {
      Round last = remote(1, bytes, copies);
      const Round hop = remote(1, piece, 2);
      last.latency += (between - 1) * (hop.latency + hop.transfer + hop.processor);
      rounds.push_back(last);
    }
    rounds.push_back({inside * (local_.latency() + local_.of("broadcast", piece)), 0, 0, 1});
    return rounds;
  }

  // The root takes from (or gives to) all, one after the other through its card.
  std::vector<Round> all_to_one(double bytes, const char* operation) const {
    if (ranks_ == 1) return {};
    if (threads()) return {{0, 0, thread_seconds(operation, bytes), 1}};
    std::vector<Round> rounds;
    if (per_node_ > 1)
      rounds.push_back({local_.latency(), 0,
                        local_.of(operation, bytes) * static_cast<double>(per_node_ - 1), 1});
    if (nodes_ > 1) rounds.push_back(remote(1, bytes, static_cast<double>(ranks_ - per_node_)));
    return rounds;
  }

  std::vector<Round> meeting() const {
    if (threads()) return {{0, 0, thread_seconds("barrier", 64), 1}};
    std::vector<Round> rounds;
    if (per_node_ > 1) rounds.push_back({local_.latency(), 0, 0, levels(per_node_)});
    if (nodes_ > 1) rounds.push_back({job_.cluster.link.latency, 0, 0, levels(nodes_)});
    return rounds;
  }

 private:
  const SimulatedJob& job_;
  LocalCosts local_;
  int64_t ranks_, nodes_, per_node_;
};

// Goes on from one round to the next only when it is asked, as the real one.
class RoundsOperation final : public Operation {
 public:
  RoundsOperation(std::vector<Round> rounds, AnalyticTime& time, double& card_free)
      : rounds_(std::move(rounds)), time_(time), card_free_(card_free) {}

  bool advance() override {
    while (at_ < rounds_.size()) {
      const Round& round = rounds_[at_];
      if (ends_ < 0) {
        card_free_ = std::max(time_.seconds() + round.latency, card_free_) + round.transfer;
        ends_ = card_free_;
      }
      if (time_.seconds() < ends_) return false;
      time_.spend(round.processor);
      ends_ = -1;
      if (++done_ == round.times) {
        done_ = 0;
        ++at_;
      }
    }
    return true;
  }
  bool block() override {
    time_.reach(ends_);
    return true;
  }
  bool met() const override { return true; }
  std::string missing() override { return ""; }
  double now() const override { return time_.seconds(); }

 private:
  std::vector<Round> rounds_;
  AnalyticTime& time_;
  double& card_free_;  // when the node's card has sent what was given to it
  size_t at_ = 0;
  int64_t done_ = 0;
  double ends_ = -1;
};

class AnalyticCommunicator final : public Communicator {
 public:
  AnalyticCommunicator(const SimulatedJob& job, double update_a_float, AnalyticTime& time)
      : wires_(job), update_a_float_(update_a_float), time_(time) {}

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(wires_.ranks()); }
  Request all_reduce(std::span<const float> from, std::span<float>) override {
    return start(wires_.all_reduce(static_cast<double>(from.size_bytes())));
  }
  Request reduce(std::span<const float> from, std::span<float>, int) override {
    return start(wires_.reduce(static_cast<double>(from.size_bytes())));
  }
  Request reduce_scatter(std::span<const float> from, std::span<float> to) override {
    return reduce(from, to, 0);
  }
  Request broadcast(Bytes data, int) override {
    return start(wires_.broadcast(static_cast<double>(data.size())));
  }
  Request gather(ConstBytes mine, Bytes, std::span<const int64_t>, int) override {
    return start(wires_.all_to_one(static_cast<double>(mine.size()), "gather"));
  }
  Request scatter(ConstBytes, Bytes mine, std::span<const int64_t>, int) override {
    return start(wires_.all_to_one(static_cast<double>(mine.size()), "scatter"));
  }
  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override {
    // All ranks say what this one says.
    for (size_t at = 0, r = 0; r < counts.size() && at + mine.size() <= all.size(); ++r) {
      std::copy(mine.begin(), mine.end(), all.begin() + static_cast<int64_t>(at));
      at += mine.size();
    }
    return start(wires_.meeting());
  }
  Request barrier() override { return start(wires_.meeting()); }

  // With a server: gradients go in, and what comes back took the server a push of every worker, an
  // update and an answer to each.
  Request send(ConstBytes, int, int) override { return {}; }
  Request receive(Bytes data, int, int) override {
    const auto bytes = static_cast<double>(data.size());
    if (bytes <= always_moved) return start(wires_.meeting());
    std::vector<Round> rounds = wires_.all_to_one(bytes, "receive");
    const double workers = static_cast<double>(wires_.ranks() - 1);
    rounds.push_back(
        {0, 0, workers * wires_.add(bytes) + update_a_float_ * bytes / sizeof(float), 1});
    const std::vector<Round> back = rounds;
    rounds.insert(rounds.end(), back.begin(), back.end() - 1);
    return start(std::move(rounds));
  }
  Request receive_any(Bytes, int, int&) override {
    throw UserError(
        "the analytic engine has no servers that answer whoever comes first; use --engine simgrid");
  }

  void read_file(const std::string& path, int64_t from, Bytes into) override {
    read_file_part(path, from, into);
  }
  std::unique_ptr<Communicator> split(int, int) override {
    throw UserError("the analytic engine has no groups of ranks; use --engine simgrid");
  }
  void abort(const std::string& reason, int) override { throw Failure("{}", reason); }
  std::string backend() const override { return "closed forms"; }
  std::string host() const override { return "node0"; }

 private:
  Request start(std::vector<Round> rounds) {
    return {std::make_unique<RoundsOperation>(std::move(rounds), time_, card_free_), {""}, 0};
  }

  Wires wires_;
  double update_a_float_;
  AnalyticTime& time_;
  double card_free_ = 0;
};

}  // namespace

void run_analytically(const SimulatedJob& job, double update_a_float,
                      const SimulatedMain& rank_main) {
  double speed = 1e300;
  for (int node = 0; node <= job.nodes.back(); ++node)
    speed = std::min(speed, job.cluster.speed_of(node));
  AnalyticTime time(speed);
  if (job.nodes.size() == 1) {
    const std::unique_ptr<Communicator> self = make_self_communicator();
    SimulatedRank alone{*self, time, job.nodes[0]};
    rank_main(alone);
    return;
  }
  AnalyticCommunicator ranks(job, update_a_float, time);
  SimulatedRank rank{ranks, time, job.nodes[0]};
  rank_main(rank);
}

}  // namespace lockstep
