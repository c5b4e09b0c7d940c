#pragma once

#include "nn/layer.h"

namespace lockstep {

// Layers under a common name. With `recomputes`, only the input is kept between forward and
// backward: the backward pass repeats the forward pass.
class Group final : public Layer {
 public:
  Group(Layers body, bool recomputes) : body_(std::move(body)), recomputes_(recomputes) {}

  std::string kind() const override { return "group"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  std::vector<ParameterSpec> state(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  Layers body_;
  bool recomputes_;
};

}  // namespace lockstep
