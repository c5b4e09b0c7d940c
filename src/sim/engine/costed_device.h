#pragma once

#include "base/clock.h"
#include "sim/profile/costs.h"
#include "tensor/device/host_memory_device.h"

namespace lockstep {

// Spends the known times of kernels on a virtual clock. A device inside computes the values.
// Without one nothing is computed and no value is accessed: losses and norms are 0, so nothing is
// clipped, diverges or stops early.
class CostedDevice final : public HostMemoryDevice {
 public:
  CostedDevice(const StepCost& cost, int64_t rows, int64_t parameters, VirtualClock& clock,
               Device* inside = nullptr)
      : cost_(cost), rows_(rows), parameters_(parameters), clock_(clock), inside_(inside) {}

  std::unique_ptr<Kernel> prepare(const KernelSpec& spec) override;
  std::unique_ptr<LossKernel> prepare(const LossSpec& spec) override;
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec& spec) override;

  DeviceMemory allocate(size_t bytes) override;
  bool shares_host_memory() const override { return !inside_ || inside_->shares_host_memory(); }
  void upload(std::span<const float> host, std::span<float> to) override;
  void download(std::span<const float> from, std::span<float> host) override;
  void fill(std::span<float> values, float value) override;
  void add_scaled(std::span<float> into, std::span<const float> from, float factor) override;
  void scale(std::span<float> values, float factor) override;
  void copy(std::span<const float> from, std::span<float> to) override;
  void dot_products(std::span<const float> a, std::span<const float> b,
                    std::span<const size_t> ends, std::span<double> sums) override;
  bool computes() const override { return inside_ != nullptr; }
  std::string description() const override { return "simulated"; }

 private:
  // Seconds for `floats` floats: some of those that a step updates, or a whole array of more than
  // these.
  double of_parameters(size_t floats, double per_step, double whole) const;

  StepCost cost_;
  int64_t rows_, parameters_;
  VirtualClock& clock_;
  Device* inside_;
  size_t next_ = 0;
};

}  // namespace lockstep
