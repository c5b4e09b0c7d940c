#pragma once

#include <span>

#include "os/buffer.h"
#include "tensor/device.h"

namespace lockstep {

// Device memory as seen by the host and the communicator: the memory itself if the device shares
// host memory, else a copy that download() and upload() synchronise.
class HostMirror {
 public:
  HostMirror() = default;
  // Null device: the memory is host memory.
  HostMirror(Device* device, std::span<float> memory)
      : device_(device && !device->shares_host_memory() ? device : nullptr), memory_(memory) {}

  size_t size() const { return memory_.size(); }
  std::span<float> floats() const;
  // A part, in floats, or everything. download() returns the downloaded part on the host.
  void upload(size_t begin, size_t count) const;
  std::span<float> download(size_t begin, size_t count) const;
  void upload() const { upload(0, memory_.size()); }
  std::span<float> download() const { return download(0, memory_.size()); }

 private:
  Device* device_ = nullptr;
  std::span<float> memory_;
  mutable Buffer copy_;  // allocated on first use
};

}  // namespace lockstep
