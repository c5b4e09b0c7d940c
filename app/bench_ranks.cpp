#include "bench_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "parallel/strategy.h"
#include "ranks.h"
#include "text.h"
#include "train/batch_input.h"
#include "train/diagnosis.h"

namespace lockstep {
namespace {

// The held batches over and over, one whole batch a step and rank.
class HeldSource final : public BatchSource {
 public:
  HeldSource(const Held& held, int64_t ranks)
      : held_(held), share_{held.batches[0].rows, held.batches[0].rows * ranks, {}} {
    share_.shards = {share_.mine};
  }
  void set_steps(int64_t steps) { steps_ = steps; }
  int64_t steps() const override { return steps_; }
  const StepShare& share(int64_t) const override { return share_; }
  Piece next() override {
    const Batch& batch = held_.batches[next_++ % held_.batches.size()];
    return {.rows = batch.rows,
            .input = input_of(batch),
            .targets = targets_of(batch),
            .keys = {.seed = 1, .epoch = 1, .ids = batch.ids}};
  }

 private:
  const Held& held_;
  StepShare share_;
  int64_t steps_ = 0;
  size_t next_ = 0;
};

class Timer final : public StepHandler {
 public:
  Timer(double rate, const Clock& clock) : rate_(rate), clock_(clock) {}
  double learning_rate(int64_t) const override { return rate_; }
  void check(int64_t, double, double) override {}
  void step_done(const StepResult& result) override {
    const double now = clock_.seconds();
    steps.push_back(now - last_);
    last_ = now;
    times += result.times;
  }
  bool asked_to_stop() const override { return false; }
  void stopping() override {}
  void restart() {
    steps.clear();
    times = {};
    last_ = clock_.seconds();
  }

  std::vector<double> steps;
  StepTimes times;

 private:
  double rate_;
  const Clock& clock_;
  double last_ = 0;
};

}  // namespace

void bench_rank(const RunConfig& config, const Held& held, double seconds, bool json,
                Communicator& ranks) {
  const WallClock clock;
  const std::string map = bind_rank(config, ranks);
  const std::unique_ptr<Strategy> strategy = make_strategy(config.parallel, config.optimizer);
  const int training = strategy->training_ranks(ranks.size());
  const std::unique_ptr<Device> device = make_device(config.device);
  const Network network(config.model.layers, held.shape);
  network.expect_outputs(held.classes, held.provenance);
  Parameters parameters(network);
  parameters.initialise(init_named(config.model.init), static_cast<uint64_t>(config.seed));
  const int64_t batch = held.batches[0].rows;
  Program program(network, loss_named(config.train.loss), *device, batch, held.sparse);
  if (held.sparse) parameters.expect_sparse_inputs();
  Optimizer optimizer(config.optimizer, *device, parameters.weights().size());
  Worker worker{ranks,  *device, clock, program, parameters, optimizer, config.train.clip_norm,
                nullptr};
  HeldSource source(held, training);
  Timer timer(config.optimizer.lr, clock);
  strategy->prepare(worker);

  timer.restart();
  source.set_steps(5);
  strategy->train_epoch(worker, source, timer, 0);
  double step = timer.steps.empty() ? 0 : timer.steps.back();
  for (const double other : gather_all(ranks, step)) step = std::max(step, other);
  source.set_steps(std::max<int64_t>(10, static_cast<int64_t>(seconds / std::max(step, 1e-6))));
  ranks.barrier().wait();
  timer.restart();
  strategy->train_epoch(worker, source, timer, 0);

  const std::vector<RankTimes> all = gather_times(ranks, timer.times, config.device.threads);
  if (ranks.rank() != 0) return;

  const ParallelFigures f = summarise(all, training, source.steps(), bytes_a_step(parameters),
                                      source.share(0).all, config.parallel.strategy);
  std::sort(timer.steps.begin(), timer.steps.end());
  const double median = timer.steps[timer.steps.size() / 2], best = timer.steps.front();
  const int64_t batches_a_step = strategy->one_step_an_epoch() ? source.steps() : 1;
  const double samples = static_cast<double>(batch * training * batches_a_step);
  if (json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"name", config.name},
                                              {"data", held.provenance},
                                              {"device", device->description()},
                                              {"ranks", ranks.size()},
                                              {"backend", ranks.backend()},
                                              {"strategy", config.parallel.strategy},
                                              {"oversubscribed", f.oversubscribed},
                                              {"batch_per_rank", batch},
                                              {"steps", timer.steps.size()},
                                              {"samples_per_second", samples / median},
                                              {"best_samples_per_second", samples / best},
                                              {"step_ms", median * 1e3},
                                              {"best_step_ms", best * 1e3},
                                              {"computing_share", f.computing_share},
                                              {"hidden_communication_share", f.hidden_share},
                                              {"exposed_communication_share", f.exposed_share},
                                              {"waiting_share", f.waiting_share},
                                              {"diagnosis", f.diagnosis}}
                           .dump(2));
    return;
  }
  fmt::print("{}{}, batch {} a rank, {}, {}\n{} ranks, {}, strategy {}{}\n", map, config.name,
             batch, device->description(), held.provenance, ranks.size(), ranks.backend(),
             config.parallel.strategy, f.oversubscribed ? ", oversubscribed" : "");
  fmt::print("{} samples/s (median of {} steps, {:.2f} ms each; best {})\n",
             with_commas(static_cast<int64_t>(samples / median)), timer.steps.size(), median * 1e3,
             with_commas(static_cast<int64_t>(samples / best)));
  fmt::print("computing {}, communication {} (and {} hidden), waiting {}\n",
             percent(f.computing_share), percent(f.exposed_share), percent(f.hidden_share),
             percent(f.waiting_share));
  if (!f.diagnosis.empty()) fmt::print("{}\n", f.diagnosis);
}

}  // namespace lockstep
