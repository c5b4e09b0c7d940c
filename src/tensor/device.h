#pragma once

#include <memory>
#include <span>
#include <string>

#include "tensor/kernel.h"
#include "tensor/specs.h"

namespace lockstep {

// What executes kernels: prepare once, run many times.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::unique_ptr<Kernel> prepare(const KernelSpec& spec) = 0;
  virtual std::unique_ptr<LossKernel> prepare(const LossSpec&) = 0;
  virtual std::unique_ptr<UpdateKernel> prepare(const UpdateSpec&) = 0;

  virtual void add(std::span<float> into, std::span<const float> from) = 0;
  virtual void scale(std::span<float> values, float factor);
  virtual void copy(std::span<const float> from, std::span<float> to);
  // The sum of squares, in an order that depends on the length alone.
  virtual double squared_norm(std::span<const float> values) = 0;
  virtual std::string description() const = 0;
};

struct DeviceConfig {
  std::string name = "cpu";  // cpu, or reference: plain loops to compare with
  int threads = 1;
};

std::unique_ptr<Device> make_device(const DeviceConfig& config);

}  // namespace lockstep
