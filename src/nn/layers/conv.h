#pragma once

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

// "conv FILTERS KERNEL [stride S] [pad P]"
class Conv final : public Layer {
 public:
  explicit Conv(LayerLine& line);

  std::string kind() const override { return "conv"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override;
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  Shape needed_input(const Shape& in, const Shape& needed_output) const override;
  bool cuts_output() const override { return true; }
  bool fuses_relu() const override { return true; }
  bool fuses_max_pool() const override { return true; }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t filters_;
  Window window_;
};

}  // namespace lockstep
