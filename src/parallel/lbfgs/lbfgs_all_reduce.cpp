#include "parallel/lbfgs/lbfgs_all_reduce.h"

#include <cmath>
#include <optional>

#include "optim/lbfgs.h"
#include "parallel/gradients/synchronous_gradients.h"
#include "parallel/lbfgs/lbfgs_history.h"
#include "parallel/strategies.h"

namespace lockstep {
namespace {

// A step is one or several iterations on the samples of one batch: line searches compare losses of
// the same samples. All ranks make the same decisions, from sums that are equal to the bit.
class LbfgsAllReduce final : public Strategy, private LbfgsVectors {
 public:
  LbfgsAllReduce(const ParallelConfig& config, const OptimizerConfig& optimizer)
      : config_(config),
        optimizer_(optimizer),
        gradients_(Exchange::all_reduce, config, optimizer) {}

  void prepare(Worker& worker) override {
    gradients_.prepare(worker);
    const size_t floats = worker.parameters.weights().size();
    for (DeviceMemory* memory : {&weights_before_, &gradient_before_, &direction_})
      *memory = worker.device.allocate(floats * sizeof(float));
    for (int rank = 0; rank < worker.groups.data.size(); ++rank)
      parts_.emplace_back(floats, worker.groups.data.size(), rank);
    history_.emplace(worker.device, optimizer_.history,
                     parts_[static_cast<size_t>(worker.groups.data.rank())]);
    own_direction_ = worker.device.allocate(history_->part().floats() * sizeof(float));
    own_direction_on_host_ = {&worker.device, own_direction_.floats()};
    direction_on_host_ = {&worker.device, direction_.floats()};
    lbfgs_.emplace(static_cast<LbfgsVectors&>(*this));
  }

  StepResult step(Worker& worker, BatchSource& source, const StepPlan& plan) override {
    worker_ = &worker;
    source_ = &source;
    plan_ = &plan;
    now_ = begin_step(plan);
    evaluations_in_step_ = 0;
    double loss = evaluate();
    now_.gradient_norm = worker.optimizer.gradient_norm(worker.parameters);
    worker.expect_finite(now_);
    lbfgs_->gradient_changed();
    StepResult accepted = now_;
    for (int64_t i = 0; i < optimizer_.iterations; ++i) {
      const Lbfgs::Iteration iteration = lbfgs_->iterate(loss, plan.learning_rate);
      if (!iteration.moved) break;
      loss = iteration.loss;
      accepted = now_;
    }
    accepted.gradient_norm = worker.optimizer.gradient_norm(worker.parameters);
    accepted.gradient_seconds = now_.gradient_seconds;
    accepted.times = now_.times;
    accepted.stop = now_.stop;
    evaluations_ += evaluations_in_step_;
    ++steps_;
    return accepted;
  }

  std::vector<HostMirror> mirrors() override { return history_->mirrors(); }
  std::vector<std::pair<std::string, int64_t*>> counters() override {
    return {{"lbfgs/pairs", &lbfgs_->kept_pairs()}, {"lbfgs/next", &lbfgs_->next_slot()}};
  }
  std::vector<NamedFigure> figures() const override {
    if (steps_ == 0) return {};
    return {
        {"evaluations_per_step", static_cast<double>(evaluations_) / static_cast<double>(steps_)}};
  }

 private:
  std::span<const float> weights() const { return worker_->parameters.weights(); }
  std::span<const float> gradient() const { return worker_->parameters.gradients(); }
  template <typename T>
  std::span<T> mine(std::span<T> arena) const {
    return history_->part().of(arena);
  }

  // Loss and gradient of the step's samples with the present weights. Figures go to `now_`.
  double evaluate() {
    StepResult result = begin_step(*plan_);
    if (evaluations_in_step_++ > 0) source_->repeat(plan_->step);
    gradients_.compute(*worker_, *source_, plan_->step, result);
    result.times += now_.times;
    result.gradient_seconds += now_.gradient_seconds;
    result.stop = result.stop || now_.stop;
    now_ = result;
    const double start = worker_->clock.seconds();
    double loss = 0;
    for (const double shard : all_losses()) loss += shard;
    loss /= static_cast<double>(std::max<int64_t>(1, result.rows));
    if (optimizer_.weight_decay > 0) {
      const std::span<float> weights = worker_->parameters.weights();
      worker_->device.add_scaled(worker_->parameters.gradients(), weights,
                                 static_cast<float>(optimizer_.weight_decay));
      loss += optimizer_.weight_decay / 2 * product(weights, weights);
    }
    now_.times.compute += worker_->clock.seconds() - start;
    return loss;
  }

  // Of all shards of all ranks, in order; in double, unlike the sum that travels with gradients.
  std::vector<double> all_losses() {
    const std::span<const double> mine = gradients_.shard_losses();
    std::vector<double> all(mine.size() * parts_.size());
    exchange([&] {
      const std::vector<int64_t> counts(parts_.size(), static_cast<int64_t>(mine.size_bytes()));
      return worker_->groups.data.all_gather(std::as_bytes(mine),
                                             std::as_writable_bytes(std::span(all)), counts);
    });
    return all;
  }

  // Product of whole arrays, which every rank has.
  double product(std::span<const float> a, std::span<const float> b) {
    const ArenaPart whole(a.size(), 1, 0);
    std::vector<double> blocks(whole.ends().size());
    worker_->device.dot_products(a, b, whole.ends(), blocks);
    return sum_of_blocks(blocks);
  }

  template <typename Start>
  void exchange(const Start& start) {
    const double before = worker_->clock.seconds();
    const double waiting = start().wait().waiting;
    now_.times.waiting += waiting;
    now_.times.exposed += worker_->clock.seconds() - before - waiting;
    worker_->note("communication", before);
  }

  // ------------------------------------------------------------------------------- LbfgsVectors

  int history() const override { return static_cast<int>(optimizer_.history); }

  std::vector<double> products(std::span<const int> vectors) override {
    const std::vector<double> own = history_->products(vectors, mine(gradient()));
    const size_t rows = vectors.size() * static_cast<size_t>(basis());
    std::vector<int64_t> counts;
    for (const ArenaPart& part : parts_)
      counts.push_back(static_cast<int64_t>(rows * sizeof(double)) * part.blocks());
    std::vector<double> all(rows * static_cast<size_t>(ArenaPart::all_blocks));
    exchange([&] {
      return worker_->groups.data.all_gather(std::as_bytes(std::span(own)),
                                             std::as_writable_bytes(std::span(all)), counts);
    });
    std::vector<double> sums(rows, 0.0);
    for (size_t at = 0; const ArenaPart& part : parts_)
      for (size_t row = 0; row < rows; ++row)
        for (int64_t block = 0; block < part.blocks(); ++block) sums[row] += all[at++];
    return sums;
  }

  double begin_line(std::span<const double> coefficients) override {
    Device& device = worker_->device;
    device.copy(weights(), weights_before_.floats());
    device.copy(gradient(), gradient_before_.floats());
    const std::span<float> own = own_direction_.floats().first(history_->part().floats());
    history_->combine(coefficients, mine(gradient()), own);
    std::vector<int64_t> counts;
    for (const ArenaPart& part : parts_)
      counts.push_back(static_cast<int64_t>(part.floats() * sizeof(float)));
    const ConstBytes sent = std::as_bytes(own_direction_on_host_.download(0, own.size()));
    exchange([&] {
      return worker_->groups.data.all_gather(
          sent, std::as_writable_bytes(direction_on_host_.floats()), counts);
    });
    direction_on_host_.upload();
    return product(direction_.floats(), gradient());
  }

  LinePoint move(double step) override {
    const std::span<float> weights = worker_->parameters.weights();
    worker_->device.copy(weights_before_.floats(), weights);
    worker_->device.add_scaled(weights, direction_.floats(), static_cast<float>(step));
    const double loss = evaluate();
    return {step, loss, product(direction_.floats(), gradient())};
  }

  void move_back() override {
    worker_->device.copy(weights_before_.floats(), worker_->parameters.weights());
    worker_->device.copy(gradient_before_.floats(), worker_->parameters.gradients());
  }

  void remember(int slot) override {
    history_->remember(slot, mine(weights()), mine(weights_before_.floats()), mine(gradient()),
                       mine(gradient_before_.floats()));
  }

  bool computes() const override { return worker_->device.computes(); }

  ParallelConfig config_;
  OptimizerConfig optimizer_;
  SynchronousGradients gradients_;
  std::vector<ArenaPart> parts_;  // by rank
  DeviceMemory weights_before_, gradient_before_, direction_;
  DeviceMemory own_direction_;  // this rank's part
  HostMirror direction_on_host_, own_direction_on_host_;
  std::optional<LbfgsHistory> history_;
  std::optional<Lbfgs> lbfgs_;
  Worker* worker_ = nullptr;  // of the current step
  BatchSource* source_ = nullptr;
  const StepPlan* plan_ = nullptr;
  StepResult now_;  // of the last evaluation, with the times of the whole step
  int64_t evaluations_in_step_ = 0, evaluations_ = 0, steps_ = 0;
};

}  // namespace

std::unique_ptr<Strategy> make_lbfgs_all_reduce(const ParallelConfig& config,
                                                const OptimizerConfig& optimizer) {
  return std::make_unique<LbfgsAllReduce>(config, optimizer);
}

}  // namespace lockstep
