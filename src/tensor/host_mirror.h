#pragma once

#include <span>

#include "os/buffer.h"
#include "tensor/device.h"

namespace lockstep {

// Device memory as the host and the communicator see it: the memory itself where the device shares
// the host's, else a copy that download() and upload() bring up to date.
class HostMirror {
 public:
  HostMirror() = default;
  // Without a device the memory is the host's.
  HostMirror(Device* device, std::span<float> memory)
      : device_(device && !device->shares_host_memory() ? device : nullptr), memory_(memory) {}

  size_t size() const { return memory_.size(); }
  std::span<float> floats() const;
  // Of a part, in floats, or of everything. download() returns what it made current.
  void upload(size_t begin, size_t count) const;
  std::span<float> download(size_t begin, size_t count) const;
  void upload() const { upload(0, memory_.size()); }
  std::span<float> download() const { return download(0, memory_.size()); }

 private:
  Device* device_ = nullptr;
  std::span<float> memory_;
  mutable Buffer copy_;  // made when first asked for
};

}  // namespace lockstep
