#pragma once

#include "nn/layer.h"
#include "nn/layers/words.h"

namespace lockstep {

// "conv FILTERS KERNEL [stride S] [pad P]"
class Conv final : public Layer {
 public:
  explicit Conv(Words& words);

  std::string kind() const override { return "conv"; }
  std::string text() const override;
  Signal output(const Signal& in) const override;
  std::vector<ParameterSpec> parameters(const Signal& in) const override;
  double flops(const Signal& in) const override;
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
