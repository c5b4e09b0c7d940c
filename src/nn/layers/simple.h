#pragma once

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

// Layers that keep the number of values of a sample.

// "relu", "sigmoid", "tanh", "gelu" (tanh form), "softmax" (over channels)
class Activation final : public Layer {
 public:
  explicit Activation(ActivationKind activation) : activation_(activation) {}
  std::string kind() const override;
  std::string text() const override { return kind(); }
  SampleShape output(const SampleShape& in) const override { return in; }
  Shape needed_input(const Shape& in, const Shape& needed_output) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;
  ActivationKind activation() const { return activation_; }

 private:
  ActivationKind activation_;
};

// "dropout RATE"
class Dropout final : public Layer {
 public:
  explicit Dropout(LayerLine& line);
  explicit Dropout(float rate) : rate_(rate) {}
  std::string kind() const override { return "dropout"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override { return in; }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  float rate_;
};

// "flatten [SIZE]": an image as a vector; SIZE, if given, is checked.
class Flatten final : public Layer {
 public:
  explicit Flatten(LayerLine& line);
  std::string kind() const override { return "flatten"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device&, const Placement&) const override { return nullptr; }

 private:
  int64_t size_ = 0;
};

// "batchnorm", "layernorm" (over channels)
class Norm final : public Layer {
 public:
  explicit Norm(NormKind norm) : norm_(norm) {}
  std::string kind() const override { return norm_ == NormKind::batch ? "batchnorm" : "layernorm"; }
  std::string text() const override { return kind(); }
  SampleShape output(const SampleShape& in) const override { return in; }
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  std::vector<ParameterSpec> state(const SampleShape& in) const override;
  bool fuses_relu() const override { return true; }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  NormKind norm_;
};

}  // namespace lockstep
