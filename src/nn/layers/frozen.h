#pragma once

#include "nn/layer.h"

namespace lockstep {

// Layers whose weights are not trained. These weights are state: no gradients, no optimiser arrays.

// Freezes any layer.
class Frozen final : public Layer {
 public:
  explicit Frozen(std::unique_ptr<Layer> inside) : inside_(std::move(inside)) {}
  std::string kind() const override { return inside_->kind(); }
  std::string text() const override { return inside_->text(); }
  SampleShape output(const SampleShape& in) const override { return inside_->output(in); }
  std::vector<ParameterSpec> state(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override { return inside_->flops(in); }
  std::optional<Shape> tied_to(const SampleShape& in) const override {
    return inside_->tied_to(in);
  }
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  std::unique_ptr<Layer> inside_;
};

// LoRA: a frozen dense layer plus a trained low-rank update,
// y = x weight + bias + (alpha / rank) (x lora_A^T) lora_B^T. Rank 0: no update.
class AdaptedDense final : public Layer {
 public:
  AdaptedDense(int64_t outputs, int64_t rank, double alpha)
      : outputs_(outputs), rank_(rank), alpha_(alpha) {}
  std::string kind() const override { return "dense"; }
  std::string text() const override;
  SampleShape output(const SampleShape& in) const override { return Shape{in.shape[0], outputs_}; }
  std::vector<ParameterSpec> parameters(const SampleShape& in) const override;
  std::vector<ParameterSpec> state(const SampleShape& in) const override;
  double flops(const SampleShape& in) const override;
  std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const override;

 private:
  int64_t outputs_, rank_;
  double alpha_;
};

}  // namespace lockstep
