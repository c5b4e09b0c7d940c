#include "nn/layers/dense.h"

namespace lockstep {

namespace {

int64_t inputs_of(const Shape& in) { return in.is_sequence() ? in.channels() : in.elements(); }

}  // namespace

std::vector<ParameterSpec> Dense::parameters(const SampleShape& in) const {
  const int64_t inputs = inputs_of(in.shape);
  ParameterSpec weight{.name = "weight",
                       .stored = {inputs, outputs_},
                       .axes = {1, 0},
                       .canonical = {outputs_, inputs},
                       .role = Role::weight,
                       .fan_in = inputs,
                       .fan_out = outputs_,
                       .deviation = deviation_};
  if (in.image.is_image()) {  // PyTorch flattens in channel-first order
    weight.stored = {in.image.height(), in.image.width(), in.image.channels(), outputs_};
    weight.axes = {3, 2, 0, 1};
  }
  if (deviation_) {
    weight.axes = {0, 1};
    weight.canonical = weight.stored;
  }
  return {weight,
          {.name = "bias",
           .stored = {outputs_},
           .axes = {0},
           .canonical = {outputs_},
           .role = Role::bias,
           .fan_in = inputs,
           .fan_out = outputs_,
           .deviation = deviation_ ? std::optional(0.0) : std::nullopt}};
}

double Dense::flops(const SampleShape& in) const {
  return 2.0 * static_cast<double>(in.shape.elements() * outputs_);
}

std::unique_ptr<Kernel> Dense::prepare(Device& device, const Placement& p) const {
  const int64_t inputs = inputs_of(p.in);
  return device.prepare(DenseSpec{.batch = p.batch,
                                  .positions = p.in.elements() / inputs,
                                  .in = inputs,
                                  .out = outputs_,
                                  .relu = p.relu,
                                  .needs_dx = p.needs_dx,
                                  .sparse = p.sparse});
}

}  // namespace lockstep
