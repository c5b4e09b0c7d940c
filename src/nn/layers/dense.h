#pragma once

#include <fmt/format.h>

#include "nn/layer.h"
#include "nn/layers/words.h"

namespace lockstep {

// "dense OUTPUTS": every output sees every input; an image is flattened first.
class Dense final : public Layer {
 public:
  explicit Dense(Words& words) : outputs_(words.take_count("the number of outputs")) {}

  std::string kind() const override { return "dense"; }
  std::string text() const override { return fmt::format("dense {}", outputs_); }
  Signal output(const Signal&) const override { return Shape{outputs_}; }
  std::vector<ParameterSpec> parameters(const Signal& in) const override;
  double flops(const Signal& in) const override;
  bool takes_sparse() const override { return true; }
  bool fuses_relu() const override { return true; }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t outputs_;
};

}  // namespace lockstep
