#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "base/error.h"
#include "comm/algorithms/segments.h"
#include "parallel/gradients/arriving_gradients.h"
#include "parallel/gradients/gradient_exchange.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

enum Tag { push_tag = 1, gradient_tag = 2, reply_tag = 3, weights_tag = 4 };

// The first segment of a shard is an ordinary message, those that follow are a stream.
int tag_of(Tag tag, int64_t segment) { return segment > 0 ? first_stream_tag + tag : tag; }

// Shards are exchanged in segments of about this size, so that a synchronous server sends new
// weights while gradients still arrive.
constexpr int64_t segment_floats = 32 * 1024;
// Largest number of segments that a worker pushes before it has their weights: one each for both
// directions of the link and for the server. With more, segments of a fast worker delay those that
// the server waits for: between 5 hosts at 30 Mbit/s, 8 took 17% longer than 3.
constexpr int64_t most_ahead = 3;

// Header of a worker's message to a server; the gradients follow unless `done`.
struct Push {
  bool done = false, stop = false;
  double rate = 0, clip_scale = 1;
  int64_t version = 0;  // of the weights that the gradients were computed from
};

struct Reply {
  int64_t version = 0;
  bool stop = false;
};

int64_t divided_up(int64_t count, int64_t divisor) { return (count + divisor - 1) / divisor; }

template <typename T>
ConstBytes bytes_to_send(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <typename T>
Bytes bytes_to_fill(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

// The last ranks are servers and hold one shard of the weights each; the others train, push
// gradients and pull weights. Synchronous: one update per step of all workers. Asynchronous: one
// update per push; a worker waits only when it is too far ahead of the slowest.
class ParameterServer final : public Strategy {
 public:
  ParameterServer(const ParallelConfig& config, const OptimizerConfig& optimizer)
      : config_(config), optimizer_config_(optimizer) {}

  void prepare(Worker& worker) override {
    exchange_.emplace(worker.groups.data, worker.parameters, config_, optimizer_config_);
    workers_ = training_ranks(config_, worker.groups.data.size());
    // An asynchronous server applies whole pushes, one after the other.
    if (!config_.asynchronous) {
      const auto weights = static_cast<int64_t>(worker.parameters.weights().size());
      segments_ = std::max<int64_t>(1, divided_up(weights, config_.servers * segment_floats));
    }
    const int server = worker.groups.data.rank() - workers_;
    if (server < 0) {
      packets_.resize(static_cast<size_t>(config_.servers * std::min(segments_, most_ahead)));
      return;
    }
    shard_optimizer_ = std::make_unique<Optimizer>(
        update_after_exchange(config_, optimizer_config_, worker.groups.data.size()), worker.device,
        shard_of(worker, server).size());
  }
  std::vector<std::span<float>> arrays() override { return exchange_->arrays(); }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    StepResult result = begin_step(plan);
    const StepShare& share = source.share(plan.step);
    if (share.mine == 0 && config_.asynchronous) return {.skipped = true};
    worker.gradients(source, share.mine, config_.asynchronous ? share.mine : share.all, false,
                     result);
    result.times.compute = result.gradient_seconds;
    result.gradient_norm = worker.optimizer.gradient_norm(worker.parameters);
    worker.expect_finite(result);
    const bool clipped = worker.clip_norm > 0 && result.gradient_norm > worker.clip_norm;
    const double start = worker.clock.seconds();
    const bool all_stop =
        exchange(worker, {.stop = plan.asked_to_stop,
                          .rate = result.learning_rate,
                          .clip_scale = clipped ? worker.clip_norm / result.gradient_norm : 1.0,
                          .version = version_});
    if (!config_.asynchronous) result.stop = all_stop;
    worker.note("push and pull", start);
    result.times.exposed = worker.clock.seconds() - start;
    return result;
  }

  void serve(Worker& worker) override {
    const std::span<float> weights = shard_of(worker, worker.groups.data.rank() - workers_);
    if (config_.asynchronous)
      serve_each(worker, weights);
    else
      serve_together(worker, weights);
  }

  bool end_epoch(Worker& worker, bool stopping, StepTimes&) override {
    Communicator& ranks = worker.groups.data;
    const bool trains = ranks.rank() < workers_;
    for (int server = 0; trains && server < config_.servers; ++server)
      ranks.send(bytes_to_send(Push{.done = true}), workers_ + server, push_tag).wait();
    const HostMirror& weights = worker.parameters.weights_on_host();
    if (!trains) weights.download();
    for (int server = 0; server < config_.servers; ++server)
      ranks.broadcast(std::as_writable_bytes(shard(weights.floats(), server)), workers_ + server)
          .wait();
    weights.upload();
    return stopping;
  }

  std::vector<Optimizer*> optimizers() override {
    return shard_optimizer_ ? std::vector<Optimizer*>{shard_optimizer_.get()}
                            : std::vector<Optimizer*>{};
  }
  std::vector<std::pair<std::string, int64_t*>> counters() override {
    return {{"version", &version_}};
  }
  std::vector<NamedFigure> figures() const override {
    if (!config_.asynchronous || pushes_ == 0) return {};
    return {{"staleness_mean", static_cast<double>(staleness_sum_) / static_cast<double>(pushes_)},
            {"staleness_max", static_cast<double>(staleness_max_)}};
  }

 private:
  std::span<float> shard(std::span<float> all, int server) const {
    return cut(all, config_.servers, server);
  }
  std::span<float> shard_of(Worker& worker, int server) const {
    return shard(worker.parameters.weights(), server);
  }
  std::span<float> segment(std::span<float> shard, int64_t i) const {
    return cut(shard, segments_, i);
  }

  // ------------------------------------------------------------------------------------ workers

  // Returns whether any worker was asked to stop.
  bool exchange(Worker& worker, const Push& push) {
    Communicator& ranks = worker.groups.data;
    const HostMirror& weights = worker.parameters.weights_on_host();
    const std::span<float> gradients =
        worker.parameters.gradients_on_host().download(0, worker.parameters.gradients().size());
    Reply reply;
    std::deque<Request> heads, pulled;
    std::vector<std::deque<Request>> pushed(static_cast<size_t>(config_.servers));
    for (int server = 0; server < config_.servers; ++server)
      heads.push_back(ranks.send(bytes_to_send(push), workers_ + server, push_tag));
    for (int64_t i = 0; i < segments_; ++i) {
      for (int server = 0; i >= most_ahead && server < config_.servers; ++server)
        wait_for_first(pulled);
      for (int server = 0; server < config_.servers; ++server) {
        const int to = workers_ + server;
        send_in_turn(ranks, pushed[static_cast<size_t>(server)], i,
                     packed(segment(shard(gradients, server), i), server, i), to, gradient_tag);
        const std::span<float> whole = shard(weights.floats(), server);
        pulled.push_back(ranks.receive_segment(std::as_writable_bytes(segment(whole, i)), to,
                                               tag_of(weights_tag, i), whole.size_bytes()));
      }
    }
    for (int server = 0; server < config_.servers; ++server)
      ranks.receive(bytes_to_fill(reply), workers_ + server, reply_tag).wait();
    wait_for_all(pulled);
    weights.upload();
    for (std::deque<Request>& requests : pushed) wait_for_all(requests);
    wait_for_all(heads);
    version_ = reply.version;
    return reply.stop;
  }

  // The message of a segment. Its packet is used again when its weights have arrived.
  ConstBytes packed(std::span<float> gradients, int server, int64_t i) {
    if (!exchange_->compresses()) return std::as_bytes(gradients);
    Buffer& packet = packets_[static_cast<size_t>(i % most_ahead * config_.servers + server)];
    const size_t bytes = exchange_->packet_bytes(gradients.size(), 0);
    if (packet.bytes() < bytes) packet = Buffer(bytes);
    return exchange_->pack(gradients, 0, {packet.data(), bytes});
  }

  // ------------------------------------------------------------------------------------ servers

  // One update per push of every worker. Segment by segment: gradients are added in the order of
  // ranks while those of the next segment arrive, and the new weights are sent without waiting.
  void serve_together(Worker& worker, std::span<float> weights) {
    Communicator& ranks = worker.groups.data;
    const auto count = static_cast<size_t>(workers_);
    const int64_t largest = divided_up(static_cast<int64_t>(weights.size()), segments_);
    std::vector<ArrivingGradients> arriving;  // of each worker, for segments in turn
    for (size_t i = 0; i < count * static_cast<size_t>(std::min<int64_t>(2, segments_)); ++i)
      arriving.emplace_back(worker.device, *exchange_, static_cast<size_t>(largest));
    const auto from_workers = [&](int64_t i) {
      return std::span(arriving).subspan(static_cast<size_t>(i % 2) * count, count);
    };
    const auto receive = [&](int64_t i) {
      for (int from = 0; i < segments_ && from < workers_; ++from)
        from_workers(i)[static_cast<size_t>(from)].receive(
            ranks, from, tag_of(gradient_tag, i), segment(weights, i).size(), weights.size());
    };
    Push push;
    Reply reply;
    std::vector<std::deque<Request>> sent(count);  // to each worker
    while (begin_update(ranks, push, reply)) {
      receive(0);
      for (int to = 0; to < workers_; ++to)
        sent[static_cast<size_t>(to)].push_back(ranks.send(bytes_to_send(reply), to, reply_tag));
      for (int64_t i = 0; i < segments_; ++i) {
        receive(i + 1);
        const std::span<float> sum = from_workers(i).front().wait();
        for (ArrivingGradients& others : from_workers(i).subspan(1))
          worker.device.add(sum, others.wait());
        const std::span<float> updated = segment(weights, i);
        const auto begin = static_cast<size_t>(updated.data() - weights.data());
        shard_optimizer_->update(updated, sum, begin, static_cast<float>(push.rate), 1);
        const ConstBytes message = std::as_bytes(download(worker, updated));
        for (int to = 0; to < workers_; ++to)
          send_in_turn(ranks, sent[static_cast<size_t>(to)], i, message, to, weights_tag);
      }
      for (std::deque<Request>& requests : sent) wait_for_all(requests);
    }
  }

  // Receives the headers of all workers. Returns false if they are done.
  bool begin_update(Communicator& ranks, Push& push, Reply& reply) {
    reply = {.version = version_ + 1};
    int done = 0;
    for (int from = 0; from < workers_; ++from) {
      ranks.receive(bytes_to_fill(push), from, push_tag).wait();
      done += push.done;
      reply.stop = reply.stop || push.stop;
    }
    if (done == workers_) return false;
    ENSURE(done == 0);  // all workers make the same number of steps
    ++version_;
    shard_optimizer_->begin_step();
    return true;
  }

  void serve_each(Worker& worker, std::span<float> weights) {
    Communicator& ranks = worker.groups.data;
    ArrivingGradients arriving(worker.device, *exchange_, weights.size());
    std::vector<int64_t> pushed(static_cast<size_t>(workers_), 0);
    std::vector<bool> working(static_cast<size_t>(workers_), true);
    std::vector<int> held;  // too far ahead: their reply is delayed
    const auto too_far = [&](int rank) {
      int64_t slowest = INT64_MAX;
      for (size_t r = 0; r < pushed.size(); ++r)
        if (working[r]) slowest = std::min(slowest, pushed[r]);
      return slowest != INT64_MAX &&
             pushed[static_cast<size_t>(rank)] - slowest > config_.staleness;
    };
    while (std::count(working.begin(), working.end(), true) > 0) {
      Push push;
      int from = 0;
      ranks.receive_any(bytes_to_fill(push), push_tag, from).wait();
      if (push.done) {
        working[static_cast<size_t>(from)] = false;
      } else {
        arriving.receive(ranks, from, gradient_tag, weights.size(), weights.size());
        shard_optimizer_->step(weights, arriving.wait(), static_cast<float>(push.rate),
                               static_cast<float>(push.clip_scale));
        const int64_t staleness = version_ - push.version;
        staleness_sum_ += staleness;
        staleness_max_ = std::max(staleness_max_, staleness);
        ++pushes_;
        ++version_;
        ++pushed[static_cast<size_t>(from)];
        held.push_back(from);
      }
      std::erase_if(held, [&](int rank) {
        if (too_far(rank)) return false;
        const Reply reply{.version = version_};
        Request head = ranks.send(bytes_to_send(reply), rank, reply_tag);
        ranks.send(std::as_bytes(download(worker, weights)), rank, weights_tag).wait();
        head.wait();
        return true;
      });
    }
  }

  // A part of the weights in host memory.
  static std::span<const float> download(const Worker& worker, std::span<const float> weights) {
    const size_t begin = static_cast<size_t>(weights.data() - worker.parameters.weights().data());
    return worker.parameters.weights_on_host().download(begin, weights.size());
  }

  // ----------------------------------------------------------------------------------- messages

  static void wait_for_first(std::deque<Request>& requests) {
    requests.front().wait();
    requests.pop_front();
  }
  static void wait_for_all(std::deque<Request>& requests) {
    while (!requests.empty()) wait_for_first(requests);
  }
  // Sends segment i of a stream; `sent` has the earlier ones that may still be arriving.
  void send_in_turn(Communicator& ranks, std::deque<Request>& sent, int64_t i, ConstBytes message,
                    int to, Tag tag) const {
    const int streams = std::max(workers_, static_cast<int>(config_.servers));
    if (sent.size() >= ranks.in_flight(to)) wait_for_first(sent);
    sent.push_back(ranks.send_segment(message, to, tag_of(tag, i), streams));
  }

  ParallelConfig config_;
  OptimizerConfig optimizer_config_;
  int workers_ = 0;
  int64_t segments_ = 1;  // of each shard
  int64_t version_ = 0;   // server: number of updates; worker: version of its weights
  std::unique_ptr<Optimizer> shard_optimizer_;
  std::optional<GradientExchange> exchange_;
  std::vector<Buffer> packets_;  // worker: compressed gradients, for segments in turn
  int64_t pushes_ = 0, staleness_sum_ = 0, staleness_max_ = 0;
};

StrategyTraits traits(const ParallelConfig& config) {
  return {.servers = config.servers,
          .global_results = false,
          .meets_each_step = !config.asynchronous,
          .compresses = true,
          .sends_whole_arrays = true,
          .can_clip = config.asynchronous,
          .changes_learning = config.asynchronous};
}

}  // namespace

StrategyEntry parameter_server_entry() {
  return {"parameter-server", "servers hold the weights, workers push gradients and pull weights",
          traits,
          [](const ParallelConfig& config,
             const OptimizerConfig& optimizer) -> std::unique_ptr<Strategy> {
            return std::make_unique<ParameterServer>(config, optimizer);
          }};
}

}  // namespace lockstep
