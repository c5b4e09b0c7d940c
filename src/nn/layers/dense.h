#pragma once

#include <fmt/format.h>

#include "nn/layer.h"
#include "nn/layers/layer_line.h"

namespace lockstep {

// "dense OUTPUTS": fully connected. An image is flattened first; a sequence is mapped position by
// position.
class Dense final : public Layer {
 public:
  explicit Dense(LayerLine& line) : outputs_(line.take_count("the number of outputs")) {}
  // As in GPT-2: normal initial weights with this deviation, stored as inputs × outputs in files.
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
