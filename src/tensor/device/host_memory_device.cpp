#include "tensor/device/host_memory_device.h"

#include <algorithm>

namespace lockstep {

void HostMemoryDevice::upload(std::span<const float> host, std::span<float> to) {
  std::ranges::copy(host, to.begin());
}

void HostMemoryDevice::download(std::span<const float> from, std::span<float> host) {
  std::ranges::copy(from, host.begin());
}

void HostMemoryDevice::fill(std::span<float> values, float value) {
  std::ranges::fill(values, value);
}

void HostMemoryDevice::copy(std::span<const float> from, std::span<float> to) {
  std::ranges::copy(from, to.begin());
}

void HostMemoryDevice::scale(std::span<float> values, float factor) {
  for (float& value : values) value *= factor;
}

}  // namespace lockstep
