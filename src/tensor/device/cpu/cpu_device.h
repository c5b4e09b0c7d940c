#pragma once

#include "base/thread_pool.h"
#include "tensor/device.h"

namespace lockstep {

// The processor: vector kernels of our own (Highway picks the instruction set at run time), oneDNN
// where it is better. Results do not depend on the number of threads.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) : pool_(threads) {}

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
  std::string description() const override;

  ThreadPool& pool() { return pool_; }

 private:
  ThreadPool pool_;
};

}  // namespace lockstep
