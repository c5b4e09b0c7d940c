#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "parallel/gradient_exchange.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

enum Tag { push_tag = 1, gradient_tag = 2, reply_tag = 3, weights_tag = 4 };

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
    const int server = worker.groups.data.rank() - workers_;
    if (server < 0) return;
    gradients_ = Received(worker.device, shard_of(worker, server).size_bytes());
    packet_.resize(exchange_->compresses() ? packet_bytes(gradients_.floats()) : 0);
    shard_optimizer_ = std::make_unique<Optimizer>(
        update_after_exchange(config_, optimizer_config_, worker.groups.data.size()), worker.device,
        gradients_.floats().size());
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
  // Device memory for gradients received from a worker.
  struct Received {
    Received() = default;
    Received(Device& device, size_t bytes)
        : memory(device.allocate(bytes)), mirror(&device, memory.floats()) {}
    std::span<float> floats() const { return memory.floats(); }
    DeviceMemory memory;
    HostMirror mirror;
  };

  std::span<float> shard(std::span<float> all, int server) const {
    const Part part = part_of(static_cast<int64_t>(all.size()), config_.servers, server);
    return all.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size()));
  }
  std::span<float> shard_of(Worker& worker, int server) const {
    return shard(worker.parameters.weights(), server);
  }

  // ------------------------------------------------------------------------------------ workers

  bool exchange(Worker& worker, const Push& push) {
    Communicator& ranks = worker.groups.data;
    const HostMirror& weights = worker.parameters.weights_on_host();
    const std::span<float> gradients =
        worker.parameters.gradients_on_host().download(0, worker.parameters.gradients().size());
    std::vector<Request> requests;
    std::vector<std::vector<std::byte>> packets(static_cast<size_t>(config_.servers));
    for (int server = 0; server < config_.servers; ++server) {
      const int to = workers_ + server;
      const std::span<float> part = shard(gradients, server);
      std::vector<std::byte>& packet = packets[static_cast<size_t>(server)];
      if (exchange_->compresses()) packet.resize(packet_bytes(part));
      requests.push_back(ranks.send(bytes_to_send(push), to, push_tag));
      requests.push_back(ranks.send(exchange_->pack(part, 0, packet), to, gradient_tag));
    }
    Reply reply;
    for (int server = 0; server < config_.servers; ++server) {
      const int from = workers_ + server;
      ranks.receive(bytes_to_fill(reply), from, reply_tag).wait();
      ranks.receive(std::as_writable_bytes(shard(weights.floats(), server)), from, weights_tag)
          .wait();
    }
    weights.upload();
    for (Request& request : requests) request.wait();
    version_ = reply.version;
    return reply.stop;
  }

  // ------------------------------------------------------------------------------------ servers

  // One update per push of every worker; gradients are added in the order of ranks.
  void serve_together(Worker& worker, std::span<float> weights) {
    Communicator& ranks = worker.groups.data;
    const Received arriving(worker.device, workers_ > 1 ? weights.size_bytes() : 0);
    for (;;) {
      Push push;
      Reply reply{.version = ++version_};
      int done = 0;
      for (int from = 0; from < workers_; ++from) {
        ranks.receive(bytes_to_fill(push), from, push_tag).wait();
        if (push.done) {
          ++done;
          continue;
        }
        reply.stop = reply.stop || push.stop;
        receive(ranks, from == 0 ? gradients_ : arriving, from);
        if (from > 0) worker.device.add(gradients_.floats(), arriving.floats());
      }
      if (done == workers_) return;
      ENSURE(done == 0);  // all workers make the same number of steps
      shard_optimizer_->step(weights, gradients_.floats(), static_cast<float>(push.rate), 1);
      const std::span<const float> sent = download_shard(worker);
      for (int to = 0; to < workers_; ++to) send_weights(ranks, to, reply, sent);
    }
  }

  void serve_each(Worker& worker, std::span<float> weights) {
    Communicator& ranks = worker.groups.data;
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
        receive(ranks, gradients_, from);
        shard_optimizer_->step(weights, gradients_.floats(), static_cast<float>(push.rate),
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
        send_weights(ranks, rank, {.version = version_}, download_shard(worker));
        return true;
      });
    }
  }

  void receive(Communicator& ranks, const Received& into, int from) {
    if (exchange_->compresses()) {
      ranks.receive(packet_, from, gradient_tag).wait();
      exchange_->unpack(packet_, into.mirror.floats(), 0);
    } else {
      ranks.receive(std::as_writable_bytes(into.mirror.floats()), from, gradient_tag).wait();
    }
    into.mirror.upload();
  }
  size_t packet_bytes(std::span<const float> gradients) const {
    return exchange_->packet_bytes(gradients.size(), 0);
  }

  // This server's weights in host memory.
  std::span<const float> download_shard(const Worker& worker) const {
    const int64_t all = static_cast<int64_t>(worker.parameters.weights().size());
    const Part part = part_of(all, config_.servers, worker.groups.data.rank() - workers_);
    return worker.parameters.weights_on_host().download(static_cast<size_t>(part.begin),
                                                        static_cast<size_t>(part.size()));
  }

  static void send_weights(Communicator& ranks, int to, const Reply& reply,
                           std::span<const float> weights) {
    Request head = ranks.send(bytes_to_send(reply), to, reply_tag);
    ranks.send(std::as_bytes(weights), to, weights_tag).wait();
    head.wait();
  }

  ParallelConfig config_;
  OptimizerConfig optimizer_config_;
  int workers_ = 0;
  int64_t version_ = 0;  // server: number of updates; worker: version of its weights
  std::unique_ptr<Optimizer> shard_optimizer_;
  Received gradients_;
  std::optional<GradientExchange> exchange_;
  std::vector<std::byte> packet_;  // server: compressed gradients that arrive
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
