#include "sim/engine/analytic/analytic.h"

#include <algorithm>
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
  double after(double waiting, double work) const { return now_ + waiting + work / speed_; }
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
  Request reduce_scatter(std::span<const float> from, std::span<float> to) override {
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

  // Parameter servers: gradients are pushed and weights of the same size pulled. Replies are
  // smaller.
  Request send(ConstBytes data, int, int) override {
    pushed_ = data.size();
    worked_ = time_.seconds() - pulled_;
    asked_ = false;
    return {};
  }
  Request receive(Bytes data, int, int) override {
    const ClosedForms::Served served =
        forms_.served(static_cast<double>(pushed_), static_cast<double>(data.size()), costs_);
    if (data.size() + sizeof(float) < pushed_) return start({served.head});
    if (std::exchange(asked_, true)) return start({served.pull});  // from another server
    // Servers take pushes in the order of ranks, once the last worker has its weights; that worker
    // then takes as long as this one to compute its gradients.
    Round update = served.update;
    update.latency = std::max(update.latency + std::max(0.0, servers_free_ - time_.seconds()),
                              servers_free_ + worked_ + served.push - time_.seconds());
    const double updated = time_.after(update.latency, update.processor);
    pulled_ = updated + served.pull.latency + served.pull.transfer;
    servers_free_ = updated + served.last_pull;
    return start({update, served.pull});
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

  ClosedForms forms_;
  ServerCosts costs_;
  AnalyticTime& time_;
  double card_free_ = 0;
  size_t pushed_ = 0;                     // bytes of the last push
  bool asked_ = false;                    // weights were pulled since the last push
  double servers_free_ = 0, pulled_ = 0;  // moments
  double worked_ = 0;                     // seconds between this rank's last pull and push
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
