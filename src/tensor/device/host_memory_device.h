#pragma once

#include "tensor/device.h"

namespace lockstep {

// A device whose memory is the host's.
class HostMemoryDevice : public Device {
 public:
  DeviceMemory allocate(size_t bytes) override { return DeviceMemory::on_host(bytes); }
  bool shares_host_memory() const override { return true; }
  void upload(std::span<const float> host, std::span<float> to) override;
  void download(std::span<const float> from, std::span<float> host) override;
  void fill(std::span<float> values, float value) override;
  void copy(std::span<const float> from, std::span<float> to) override;
  void scale(std::span<float> values, float factor) override;
};

}  // namespace lockstep
