#include "parallel/gradients/norm_penalty.h"

namespace lockstep {

void NormPenalty::prepare(Worker& worker) {
  const Parameters& parameters = worker.parameters;
  weights_ = worker.device.allocate(parameters.weights().size_bytes());
  gradients_ = worker.device.allocate(parameters.gradients().size_bytes());
  if (parameters.has_statistics()) state_ = worker.device.allocate(parameters.state().size_bytes());
}

void NormPenalty::add(Worker& worker, BatchSource& source, int64_t step,
                      SynchronousGradients& gradients, StepResult& result) {
  Device& device = worker.device;
  const Parameters& parameters = worker.parameters;
  double start = worker.clock.seconds();
  result.gradient_norm = worker.optimizer.gradient_norm(parameters);
  worker.expect_finite(result);
  // At a minimum the norm has no gradient. A device that does not compute has no norms.
  if (result.gradient_norm == 0 && device.computes()) return;
  const auto distance =
      static_cast<float>(device.computes() ? radius_ / result.gradient_norm : radius_);
  if (state_.bytes() > 0) device.copy(parameters.state(), state_.floats());
  for (const auto [begin, count] : parameters.active()) {
    const std::span<float> weights = parameters.weights().subspan(begin, count);
    const std::span<float> gradient = parameters.gradients().subspan(begin, count);
    device.copy(weights, weights_.floats().subspan(begin, count));
    device.copy(gradient, gradients_.floats().subspan(begin, count));
    device.add_scaled(weights, gradient, distance);
  }
  result.times.compute += worker.clock.seconds() - start;

  source.repeat(step);
  StepResult further;
  gradients.compute(worker, source, step, further);
  result.times += further.times;
  result.gradient_seconds += further.gradient_seconds;

  start = worker.clock.seconds();
  if (state_.bytes() > 0) device.copy(state_.floats(), parameters.state());
  for (const auto [begin, count] : parameters.active()) {
    const std::span<float> before = gradients_.floats().subspan(begin, count);
    const std::span<float> gradient = parameters.gradients().subspan(begin, count);
    device.copy(weights_.floats().subspan(begin, count),
                parameters.weights().subspan(begin, count));
    device.add_scaled(gradient, before, -1.0f);
    device.add_scaled(before, gradient, static_cast<float>(weight_ / radius_));
    device.copy(before, gradient);
  }
  result.times.compute += worker.clock.seconds() - start;
}

}  // namespace lockstep
