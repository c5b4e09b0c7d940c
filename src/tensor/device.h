#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/device_memory.h"
#include "tensor/kernel.h"
#include "tensor/specs.h"

namespace lockstep {

// Owns memory and executes kernels: prepare once, run many times. Spans refer to device memory
// unless they are named `host`.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::unique_ptr<Kernel> prepare(const KernelSpec& spec) = 0;
  virtual std::unique_ptr<LossKernel> prepare(const LossSpec&) = 0;
  virtual std::unique_ptr<UpdateKernel> prepare(const UpdateSpec&) = 0;

  virtual DeviceMemory allocate(size_t bytes) = 0;  // zeroed
  // Whether the host can access the device's memory directly, without upload and download.
  virtual bool shares_host_memory() const = 0;
  virtual void upload(std::span<const float> host, std::span<float> to) = 0;
  virtual void download(std::span<const float> from, std::span<float> host) = 0;
  virtual void fill(std::span<float> values, float value) = 0;
  virtual void copy(std::span<const float> from, std::span<float> to) = 0;

  virtual void add_scaled(std::span<float> into, std::span<const float> from, float factor) = 0;
  void add(std::span<float> into, std::span<const float> from) { add_scaled(into, from, 1); }
  virtual void scale(std::span<float> values, float factor) = 0;
  // The dot product of each tensor of `a` with that of `b`: tensor i ends at ends[i], where the
  // next begins. Summed in double, in an order that depends only on the tensor's length.
  virtual void dot_products(std::span<const float> a, std::span<const float> b,
                            std::span<const size_t> ends, std::span<double> sums) = 0;
  void squared_norms(std::span<const float> values, std::span<const size_t> ends,
                     std::span<double> sums) {
    dot_products(values, values, ends, sums);
  }
  // False: only time is spent, all values are meaningless.
  virtual bool computes() const { return true; }
  virtual std::string description() const = 0;
};

struct DeviceConfig {
  std::string name = "cpu";  // see device_names()
  int threads = 1;
};

std::vector<std::string> device_names();
std::unique_ptr<Device> make_device(const DeviceConfig& config);

}  // namespace lockstep
