#pragma once

#include <fmt/format.h>

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

// "dense OUTPUTS": every output sees every input; an image is flattened first, of a sequence each
// position is taken by itself.
class Dense final : public Layer {
 public:
  explicit Dense(LayerLine& line) : outputs_(line.take_count("the number of outputs")) {}
  // As GPT-2 has it: weights start with this deviation and are kept as inputs × outputs in files.
  Dense(int64_t outputs, double deviation) : outputs_(outputs), deviation_(deviation) {}

  std::string kind() const override { return "dense"; }
  std::string text() const override { return fmt::format("dense {}", outputs_); }
  SampleShape output(const SampleShape& in) const override {
    return in.shape.is_sequence() ? Shape{in.shape[0], outputs_} : Shape{outputs_};
  }
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  bool takes_sparse() const override { return true; }
  bool fuses_relu() const override { return true; }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t outputs_;
  std::optional<double> deviation_;
};

}  // namespace lockstep
