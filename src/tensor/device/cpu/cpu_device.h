#pragma once

#include "os/thread_pool.h"
#include "tensor/device/host_memory_device.h"

namespace lockstep {

// CPU kernels: our own, vectorised (Highway selects the instruction set at run time), and oneDNN's
// convolutions where they are cheaper. Results do not depend on the number of threads.
class CpuDevice final : public HostMemoryDevice {
 public:
  explicit CpuDevice(int threads) : pool_(threads) {}

  std::unique_ptr<Kernel> prepare(const KernelSpec& spec) override {
    return std::visit([&](const auto& one) { return make(one); }, spec);
  }
  std::unique_ptr<LossKernel> prepare(const LossSpec&) override;
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec&) override;
  void add_scaled(std::span<float> into, std::span<const float> from, float factor) override;
  void dot_products(std::span<const float> a, std::span<const float> b,
                    std::span<const size_t> ends, std::span<double> sums) override;
  std::string description() const override;

  ThreadPool& pool() { return pool_; }

 private:
  // One file per operation.
  std::unique_ptr<Kernel> make(const ConvSpec&);
  std::unique_ptr<Kernel> make(const DenseSpec&);
  std::unique_ptr<Kernel> make(const PoolSpec&);
  std::unique_ptr<Kernel> make(const ActivationSpec&);
  std::unique_ptr<Kernel> make(const DropoutSpec&);
  std::unique_ptr<Kernel> make(const NormSpec&);
  std::unique_ptr<Kernel> make(const EmbeddingSpec&);
  std::unique_ptr<Kernel> make(const AttentionSpec&);

  ThreadPool pool_;
};

}  // namespace lockstep
