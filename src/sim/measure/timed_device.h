#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "tensor/device.h"

namespace lockstep {

// Measures the time of each kernel of the device inside.
class TimedDevice final : public Device {
 public:
  TimedDevice(Device& inside, const Clock& clock) : inside_(inside), clock_(clock) {}

  struct KernelTimes {
    std::string kernel;
    std::vector<double> forward, backward;  // seconds, one per call
  };
  // One per kernel, in the order they were prepared.
  const std::vector<std::unique_ptr<KernelTimes>>& kernels() const { return kernels_; }
  void forget();  // drops all samples
  const std::vector<double>& losses() const { return losses_; }
  const std::vector<double>& updates() const { return updates_; }
  const std::vector<double>& norms() const { return norms_; }  // dot_products()

  std::unique_ptr<Kernel> prepare(const KernelSpec& spec) override;
  std::unique_ptr<LossKernel> prepare(const LossSpec& spec) override;
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec& spec) override;
  DeviceMemory allocate(size_t bytes) override { return inside_.allocate(bytes); }
  bool shares_host_memory() const override { return inside_.shares_host_memory(); }
  void upload(std::span<const float> host, std::span<float> to) override {
    inside_.upload(host, to);
  }
  void download(std::span<const float> from, std::span<float> host) override {
    inside_.download(from, host);
  }
  void fill(std::span<float> values, float value) override { inside_.fill(values, value); }
  void add_scaled(std::span<float> into, std::span<const float> from, float factor) override {
    inside_.add_scaled(into, from, factor);
  }
  void scale(std::span<float> values, float factor) override { inside_.scale(values, factor); }
  void copy(std::span<const float> from, std::span<float> to) override { inside_.copy(from, to); }
  void dot_products(std::span<const float> a, std::span<const float> b,
                    std::span<const size_t> ends, std::span<double> sums) override;
  std::string description() const override { return inside_.description(); }

 private:
  Device& inside_;
  const Clock& clock_;
  std::vector<std::unique_ptr<KernelTimes>> kernels_;
  std::vector<double> losses_, updates_, norms_;
};

}  // namespace lockstep
