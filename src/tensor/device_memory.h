#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "os/buffer.h"

namespace lockstep {

// Zeroed memory of a device. Its address can be offset and cut into spans, but only the device may
// dereference it: the host reads and writes it through Device::upload and Device::download.
class DeviceMemory {
 public:
  using Release = std::function<void(std::byte*)>;

  DeviceMemory() = default;
  DeviceMemory(std::byte* address, size_t bytes, Release release)
      : address_(address, std::move(release)), bytes_(bytes) {}
  // Memory of the host, for devices that share it.
  static DeviceMemory on_host(size_t bytes) {
    auto buffer = std::make_shared<Buffer>(bytes);
    return {buffer->data(), bytes, [buffer](std::byte*) {}};
  }

  size_t bytes() const { return bytes_; }
  std::byte* data() const { return address_.get(); }
  std::span<float> floats() const {
    return {reinterpret_cast<float*>(address_.get()), bytes_ / sizeof(float)};
  }

 private:
  std::unique_ptr<std::byte, Release> address_;
  size_t bytes_ = 0;
};

}  // namespace lockstep
