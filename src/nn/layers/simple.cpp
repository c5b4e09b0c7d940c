#include "nn/layers/simple.h"

#include "base/error.h"

namespace lockstep {

std::string Activation::kind() const {
  switch (activation_) {
    case ActivationKind::relu:
      return "relu";
    case ActivationKind::sigmoid:
      return "sigmoid";
    case ActivationKind::tanh:
      return "tanh";
    case ActivationKind::gelu:
      return "gelu";
    case ActivationKind::softmax:
      return "softmax";
  }
  return "";
}

Shape Activation::needed_input(const Shape&, const Shape& needed_output) const {
  return needed_output;
}

std::unique_ptr<Kernel> Activation::prepare(Device& device, const Placement& p) const {
  return device.prepare(ActivationSpec{.batch = p.batch,
                                       .elements = p.in.elements(),
                                       .width = p.in.channels(),
                                       .kind = activation_});
}

Dropout::Dropout(LayerLine& line) : rate_(static_cast<float>(line.take_number("the rate"))) {
  if (!(rate_ >= 0 && rate_ < 1))
    throw UserError("layer \"{}\": the rate must be at least 0 and below 1", line.text());
}

std::string Dropout::text() const { return fmt::format("dropout {}", rate_); }

std::unique_ptr<Kernel> Dropout::prepare(Device& device, const Placement& p) const {
  return device.prepare(
      DropoutSpec{.batch = p.batch, .elements = p.in.elements(), .rate = rate_, .layer = p.index});
}

Flatten::Flatten(LayerLine& line) {
  if (!line.empty() && std::isdigit(static_cast<unsigned char>(line.peek()[0])))
    size_ = line.take_count("the size");
}

std::string Flatten::text() const { return size_ ? fmt::format("flatten {}", size_) : "flatten"; }

SampleShape Flatten::output(const SampleShape& in) const {
  if (size_ && size_ != in.shape.elements())
    throw UserError("gives {} values, but its input {} has {}", size_, in.shape.text(),
                    in.shape.elements());
  return {Shape{in.shape.elements()}, in.image};
}

namespace {

ParameterSpec value_per_channel(const char* name, const SampleShape& in, Role role) {
  const Shape shape{in.shape.channels()};
  if (in.shape.rank() == 1 && in.image.is_image())  // flattened: PyTorch is channel-first
    return {.name = name, .stored = in.image, .axes = {2, 0, 1}, .canonical = shape, .role = role};
  return {.name = name, .stored = shape, .axes = {0}, .canonical = shape, .role = role};
}

}  // namespace

std::vector<ParameterSpec> Norm::parameters(const SampleShape& in) const {
  return {value_per_channel("weight", in, Role::scale), value_per_channel("bias", in, Role::shift)};
}

std::vector<ParameterSpec> Norm::state(const SampleShape& in) const {
  if (norm_ == NormKind::layer) return {};
  return {value_per_channel("running_mean", in, Role::shift),
          value_per_channel("running_var", in, Role::scale)};
}

std::unique_ptr<Kernel> Norm::prepare(Device& device, const Placement& p) const {
  return device.prepare(NormSpec{.batch = p.batch,
                                 .positions = p.in.elements() / p.in.channels(),
                                 .channels = p.in.channels(),
                                 .kind = norm_,
                                 .relu = p.relu});
}

}  // namespace lockstep
