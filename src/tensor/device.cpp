#include "tensor/device.h"

#include "base/error.h"
#include "base/nearest.h"
#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/guarded/guarded_device.h"
#include "tensor/device/reference/reference_device.h"

namespace lockstep {
namespace {

struct DeviceEntry {
  const char* name;
  std::unique_ptr<Device> (*make)(int threads);
};

constexpr DeviceEntry devices[] = {
    {"cpu",
     [](int threads) -> std::unique_ptr<Device> { return std::make_unique<CpuDevice>(threads); }},
    {"reference",
     [](int) -> std::unique_ptr<Device> { return std::make_unique<ReferenceDevice>(); }},
    {"guarded",
     [](int threads) -> std::unique_ptr<Device> {
       return std::make_unique<GuardedDevice>(std::make_unique<CpuDevice>(threads));
     }},
};

}  // namespace

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceEntry& entry : devices) names.emplace_back(entry.name);
  return names;
}

std::unique_ptr<Device> make_device(const DeviceConfig& config) {
  for (const DeviceEntry& entry : devices)
    if (config.name == entry.name) return entry.make(config.threads);
  throw UserError("device.name = \"{}\" is not known; {}", config.name,
                  suggestion(config.name, device_names()));
}

}  // namespace lockstep
