#pragma once

#include "nn/layer.h"

namespace lockstep {

// Layers under one name. Recomputing, it keeps nothing between forward and backward but its input:
// the backward pass runs the forward pass again.
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
