#include "tensor/device.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/reference/reference_device.h"

namespace lockstep {

void Device::scale(std::span<float> values, float factor) {
  for (float& value : values) value *= factor;
}

void Device::copy(std::span<const float> from, std::span<float> to) {
  std::copy(from.begin(), from.end(), to.begin());
}

std::unique_ptr<Device> make_device(const DeviceConfig& config) {
  if (config.name == "cpu") return std::make_unique<CpuDevice>(config.threads);
  if (config.name == "reference") return std::make_unique<ReferenceDevice>();
  throw UserError("device.name = \"{}\" is not known; {}", config.name,
                  suggestion(config.name, {"cpu", "reference"}));
}

}  // namespace lockstep
