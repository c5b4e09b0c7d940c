#include <optional>

#include "os/buffer.h"
#include "parallel/gradients/gradient_exchange.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

// The published Fashion-MNIST setup: rank 0 sends the weights to all ranks, all ranks send their
// gradients to rank 0, and only rank 0 updates the weights. (Rank 0 scatters the samples before.)
class ScatterGather final : public Strategy {
 public:
  ScatterGather(const ParallelConfig& config, const OptimizerConfig& optimizer)
      : config_(config), optimizer_(optimizer) {}

  void prepare(Worker& worker) override {
    exchange_.emplace(worker.groups.data, worker.parameters, config_, optimizer_);
  }
  std::vector<std::span<float>> arrays() override { return exchange_->arrays(); }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    Communicator& ranks = worker.groups.data;
    const bool root = ranks.rank() == 0;
    const HostMirror& gradients = worker.parameters.gradients_on_host();
    const std::span<float> mine = gradients.floats();
    const std::span<float> tail = mine.last(Parameters::tail_floats);
    const size_t floats = mine.size() - tail.size();
    const auto size = static_cast<size_t>(ranks.size());
    const size_t packet = exchange_->packet_bytes(mine.size(), tail.size());
    const std::vector<int64_t> counts(size, static_cast<int64_t>(packet));
    if (exchange_->compresses()) packets_ = Buffer((root ? size + 1 : 1) * packet);
    if (root && all_.bytes() == 0) {
      all_ = worker.device.allocate(size * mine.size_bytes());
      all_on_host_ = {&worker.device, all_.floats()};
    }
    StepResult result = begin_step(plan);
    const StepShare& share = source.share(plan.step);
    send_weights(worker, [&](const auto& start) { exchange(worker, result, start); });
    worker.gradients(source, share.mine, share.all, false, result);
    result.times.compute = result.gradient_seconds;
    gradients.download(0, floats);
    StepTail::of(result).write(tail);
    const Bytes packets = exchange_->compresses() ? std::span(packets_.data(), packets_.bytes())
                                                  : std::as_writable_bytes(all_on_host_.floats());
    const ConstBytes own =
        exchange_->pack(mine, tail.size(), packets.last(std::min(packets.size(), packet)));
    exchange(worker, result,
             [&] { return ranks.gather(own, packets.first(root ? size * packet : 0), counts, 0); });
    if (root) {
      const double start = worker.clock.seconds();
      if (exchange_->compresses()) {
        exchange_->unpack(packets.first(packet), mine, tail.size());
        for (size_t r = 1; r < size; ++r)
          exchange_->unpack(packets.subspan(r * packet, packet),
                            all_on_host_.floats().subspan(r * mine.size(), mine.size()),
                            tail.size());
        gradients.upload(0, floats);
      }
      all_on_host_.upload();
      gradients.upload(floats, tail.size());
      for (size_t r = 1; r < size; ++r)
        worker.device.add(worker.parameters.gradients_and_tail(),
                          all_.floats().subspan(r * mine.size(), mine.size()));
      gradients.download(floats, tail.size());
      result.times.compute += worker.clock.seconds() - start;
    }
    exchange(worker, result, [&] { return ranks.broadcast(std::as_writable_bytes(tail), 0); });
    if (size > 1) StepTail::read(tail).put_into(result);
    worker.share_touched();
    if (root) worker.update(result);
    return result;
  }

  bool end_epoch(Worker& worker, bool stopping, StepTimes&) override {
    send_weights(worker, [](const auto& start) { start().wait(); });
    return stopping;
  }

 private:
  // Broadcasts the weights of rank 0.
  template <typename Wait>
  static void send_weights(Worker& worker, const Wait& wait) {
    const HostMirror& weights = worker.parameters.weights_on_host();
    Communicator& ranks = worker.groups.data;
    if (ranks.rank() == 0) weights.download();
    wait([&] { return ranks.broadcast(std::as_writable_bytes(weights.floats()), 0); });
    if (ranks.rank() > 0) weights.upload();
  }

  template <typename Start>
  static void exchange(Worker& worker, StepResult& result, const Start& start) {
    const double before = worker.clock.seconds();
    const double waiting = start().wait().waiting;
    worker.note("communication", before);
    result.times.waiting += waiting;
    result.times.exposed += worker.clock.seconds() - before - waiting;
  }

  ParallelConfig config_;
  OptimizerConfig optimizer_;
  std::optional<GradientExchange> exchange_;
  Buffer packets_;    // compressed gradients: rank 0's copies of all ranks', then this rank's
  DeviceMemory all_;  // rank 0: the gradients of every rank
  HostMirror all_on_host_;
};

}  // namespace

StrategyEntry scatter_gather_entry() {
  return {"scatter-gather", "rank 0 scatters samples, sends weights, gathers gradients",
          [](const ParallelConfig&) {
            return StrategyTraits{
                .compresses = true, .root_deals_samples = true, .sends_whole_arrays = true};
          },
          [](const ParallelConfig& config,
             const OptimizerConfig& optimizer) -> std::unique_ptr<Strategy> {
            return std::make_unique<ScatterGather>(config, optimizer);
          }};
}

}  // namespace lockstep
