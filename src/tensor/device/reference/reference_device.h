#pragma once

#include "tensor/device/host_memory_device.h"

namespace lockstep {

// Textbook implementations of all operations, single-threaded, with sums in double. Other devices
// are tested against it; it is too slow for anything else.
class ReferenceDevice final : public HostMemoryDevice {
 public:
  std::unique_ptr<Kernel> prepare(const KernelSpec& spec) override {
    return std::visit([&](const auto& one) { return make(one); }, spec);
  }
  std::unique_ptr<LossKernel> prepare(const LossSpec&) override;
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec&) override;
  void add_scaled(std::span<float> into, std::span<const float> from, float factor) override;
  void dot_products(std::span<const float> a, std::span<const float> b,
                    std::span<const size_t> ends, std::span<double> sums) override;
  std::string description() const override { return "reference"; }

 private:
  std::unique_ptr<Kernel> make(const ConvSpec&);
  std::unique_ptr<Kernel> make(const DenseSpec&);
  std::unique_ptr<Kernel> make(const PoolSpec&);
  std::unique_ptr<Kernel> make(const ActivationSpec&);
  std::unique_ptr<Kernel> make(const DropoutSpec&);
  std::unique_ptr<Kernel> make(const NormSpec&);
  std::unique_ptr<Kernel> make(const EmbeddingSpec&);
  std::unique_ptr<Kernel> make(const AttentionSpec&);
};

}  // namespace lockstep
