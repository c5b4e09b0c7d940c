#pragma once

#include "tensor/device.h"

namespace lockstep {

// Every operation as the textbook writes it, one thread, sums in double. Other devices are tested
// against it; it is too slow for anything else.
class ReferenceDevice final : public Device {
 public:
  std::unique_ptr<Kernel> prepare(const ConvSpec&) override;
  std::unique_ptr<Kernel> prepare(const DenseSpec&) override;
  std::unique_ptr<Kernel> prepare(const PoolSpec&) override;
  std::unique_ptr<Kernel> prepare(const ActivationSpec&) override;
  std::unique_ptr<Kernel> prepare(const DropoutSpec&) override;
  std::unique_ptr<Kernel> prepare(const NormSpec&) override;
  std::unique_ptr<Kernel> prepare(const EmbeddingSpec&) override;
  std::unique_ptr<Kernel> prepare(const AttentionSpec&) override;
  std::unique_ptr<LossKernel> prepare(const LossSpec&) override;
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec&) override;
  void add(std::span<float> into, std::span<const float> from) override;
  double squared_norm(std::span<const float> values) override;
  std::string description() const override { return "reference"; }
};

}  // namespace lockstep
