#include "sim/engine/analytic/analytic.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.h"
#include "comm/backend/self.h"
#include "sim/engine/analytic/closed_forms.h"

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

// Starts the next round only when it is polled, like a real operation.
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
  double& card_free_;  // when the node's network card is free
  size_t at_ = 0;
  int64_t done_ = 0;
  double ends_ = -1;
};

// A message that arrives at a known moment and costs its receiver some work.
class ArrivalOperation final : public Operation {
 public:
  ArrivalOperation(double moment, double work, AnalyticTime& time)
      : moment_(moment), work_(work), time_(time) {}

  bool advance() override {
    if (time_.seconds() < moment_) return false;
    time_.spend(work_);
    return true;
  }
  bool block() override {
    time_.reach(moment_);
    return true;
  }
  bool met() const override { return true; }
  std::string missing() override { return ""; }
  double now() const override { return time_.seconds(); }

 private:
  double moment_, work_;
  AnalyticTime& time_;
};

// When a server has received, applied and sent a segment; each stage handles one at a time.
class ServerStages {
 public:
  // Returns when the weights arrive at the workers.
  double pass(const ClosedForms::Served& served, double pushed) {
    received_ = std::max(pushed + served.latency, received_) + served.in;
    applied_ = std::max(received_, applied_) + served.server;
    sent_ = std::max(applied_, sent_) + served.out;
    return sent_ + served.latency;
  }

 private:
  double received_ = 0, applied_ = 0, sent_ = 0;  // moments, of the last segment
};

class AnalyticCommunicator final : public Communicator {
 public:
  AnalyticCommunicator(const SimulatedJob& job, const ServerCosts& costs, AnalyticTime& time)
      : forms_(job), costs_(costs), time_(time) {}

  int rank() const override { return 0; }
  int size() const override { return static_cast<int>(forms_.ranks()); }
  Request all_reduce(std::span<const float> from, std::span<float>) override {
    return start(forms_.all_reduce(static_cast<double>(from.size_bytes())));
  }
  Request all_reduce_rounded(std::span<float> data, Compression, size_t exact) override {
    return start(forms_.rounded(&ClosedForms::all_reduce, static_cast<double>(data.size_bytes()),
                                static_cast<double>(exact * sizeof(float))));
  }
  Request reduce_rounded(std::span<float> data, int, Compression, size_t exact) override {
    return start(forms_.rounded(&ClosedForms::reduce, static_cast<double>(data.size_bytes()),
                                static_cast<double>(exact * sizeof(float))));
  }
  bool carries(size_t bytes) const override { return bytes <= always_moved; }
  void spend_pass(size_t bytes) override { time_.spend(forms_.pass(static_cast<double>(bytes))); }
  Request reduce(std::span<const float> from, std::span<float>, int) override {
    return start(forms_.reduce(static_cast<double>(from.size_bytes())));
  }
  Request reduce_scatter(std::span<const float> from, std::span<float> to,
                         std::span<const int64_t>) override {
    return reduce(from, to, 0);
  }
  Request broadcast(Bytes data, int) override {
    return start(forms_.broadcast(static_cast<double>(data.size())));
  }
  Request gather(ConstBytes mine, Bytes, std::span<const int64_t>, int) override {
    return start(forms_.all_to_one(static_cast<double>(mine.size()), Collective::gather));
  }
  Request scatter(ConstBytes, Bytes mine, std::span<const int64_t>, int) override {
    return start(forms_.all_to_one(static_cast<double>(mine.size()), Collective::scatter));
  }
  Request all_gather(ConstBytes mine, Bytes all, std::span<const int64_t> counts) override {
    // All ranks are assumed to contribute the same values.
    for (size_t at = 0, r = 0; r < counts.size() && at + mine.size() <= all.size(); ++r) {
      if (carries(mine.size()))
        std::copy(mine.begin(), mine.end(), all.begin() + static_cast<int64_t>(at));
      at += mine.size();
    }
    return start(mine.size() <= always_moved
                     ? forms_.meeting()
                     : forms_.all_to_one(static_cast<double>(mine.size()), Collective::gather));
  }
  Request barrier() override { return start(forms_.meeting()); }

  // Synchronous parameter servers: segments of gradients are pushed and those of weights pulled.
  // Servers are the same, so all weights of a segment arrive like those of the first server.
  Request send(ConstBytes, int, int) override { return {}; }
  Request send_segment(ConstBytes data, int to, int, int) override {
    if (is_first_server(to)) pushed_.push_back({static_cast<double>(data.size()), time_.seconds()});
    return {};
  }
  Request receive(Bytes, int, int) override { return {}; }  // the reply precedes the weights
  Request receive_segment(Bytes data, int from, int, size_t whole) override {
    if (is_first_server(from)) {
      const Pushed push = pushed_.front();
      pushed_.pop_front();
      const ClosedForms::Served served = forms_.served(push.bytes, static_cast<double>(data.size()),
                                                       static_cast<double>(whole), costs_);
      pulled_ = {stages_.pass(served, push.moment), served.worker};
    }
    return {std::make_unique<ArrivalOperation>(pulled_.moment, pulled_.work, time_), {""}, 0};
  }
  Request receive_any(Bytes, int, int&) override {
    throw UserError(
        "the analytic engine does not simulate asynchronous servers; use --engine simgrid");
  }

  void read_file(const std::string& path, int64_t from, Bytes into) override {
    read_file_part(path, from, into);
  }
  std::unique_ptr<Communicator> split(int, int) override {
    throw UserError("the analytic engine does not simulate groups of ranks; use --engine simgrid");
  }
  void abort(const std::string& reason, int) override { throw Failure("{}", reason); }
  std::string backend() const override { return "closed forms"; }
  std::string host() const override { return "node0"; }

 private:
  Request start(std::vector<Round> rounds) {
    return {std::make_unique<RoundsOperation>(std::move(rounds), time_, card_free_), {""}, 0};
  }

  bool is_first_server(int rank) const { return rank == size() - costs_.servers; }

  ClosedForms forms_;
  ServerCosts costs_;
  AnalyticTime& time_;
  double card_free_ = 0;
  struct Pushed {
    double bytes = 0, moment = 0;
  };
  std::deque<Pushed> pushed_;  // segments of the first server, until their weights are pulled
  struct Pulled {
    double moment = 0, work = 0;
  } pulled_;  // the last segment
  ServerStages stages_;
};

}  // namespace

void run_analytically(const SimulatedJob& job, const ServerCosts& costs,
                      const SimulatedMain& rank_main) {
  AnalyticTime time(slowest_speed(job));
  if (job.nodes.size() == 1) {
    const std::unique_ptr<Communicator> self = make_self_communicator();
    SimulatedRank alone{*self, time, job.nodes[0]};
    rank_main(alone);
    return;
  }
  AnalyticCommunicator ranks(job, costs, time);
  SimulatedRank rank{ranks, time, job.nodes[0]};
  rank_main(rank);
}

}  // namespace lockstep
