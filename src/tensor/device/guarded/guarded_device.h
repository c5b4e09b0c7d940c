#pragma once

#include "tensor/device.h"

namespace lockstep {

class GuardedMemory;

// For tests: a device with separate memory, like an accelerator. The addresses it hands out are
// reserved and fault when the host accesses them; the device inside computes on other memory. Host
// memory in place of device memory, or the reverse, is a Failure that names the operand.
class GuardedDevice final : public Device {
 public:
  explicit GuardedDevice(std::unique_ptr<Device> inside);
  ~GuardedDevice() override;

  std::unique_ptr<Kernel> prepare(const KernelSpec& spec) override;
  std::unique_ptr<LossKernel> prepare(const LossSpec& spec) override;
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec& spec) override;

  DeviceMemory allocate(size_t bytes) override;
  bool shares_host_memory() const override { return false; }
  void upload(std::span<const float> host, std::span<float> to) override;
  void download(std::span<const float> from, std::span<float> host) override;
  void fill(std::span<float> values, float value) override;
  void copy(std::span<const float> from, std::span<float> to) override;
  void add_scaled(std::span<float> into, std::span<const float> from, float factor) override;
  void scale(std::span<float> values, float factor) override;
  void dot_products(std::span<const float> a, std::span<const float> b,
                    std::span<const size_t> ends, std::span<double> sums) override;
  std::string description() const override;

 private:
  std::unique_ptr<Device> inside_;
  std::shared_ptr<GuardedMemory> memory_;
};

}  // namespace lockstep
