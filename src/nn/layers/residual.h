#pragma once

#include "nn/layer.h"

namespace lockstep {

// "residual(BODY)": body(x) + x; "residual(BODY | SHORTCUT)": body(x) + shortcut(x). Both are layer
// lines separated by ';'.
class Residual final : public Layer {
 public:
  Residual(Layers body, Layers shortcut) : body_(std::move(body)), shortcut_(std::move(shortcut)) {}

  std::string kind() const override { return "residual"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  std::vector<ParameterSpec> state(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  Layers body_, shortcut_;
};

}  // namespace lockstep
