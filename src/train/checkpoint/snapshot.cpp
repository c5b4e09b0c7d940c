#include "train/checkpoint/snapshot.h"

#include <algorithm>
#include <bit>

namespace lockstep {

Snapshot take_snapshot(const Parameters& parameters, int64_t epoch) {
  return {epoch, copy_to_host(parameters.weights_on_host()),
          copy_to_host(parameters.state_on_host()), true};
}

void restore(const Snapshot& snapshot, Parameters& parameters) {
  copy_from_host(snapshot.weights, parameters.weights_on_host());
  copy_from_host(snapshot.state, parameters.state_on_host());
}

std::vector<float> copy_to_host(const HostMirror& memory) {
  const std::span<const float> values = memory.download();
  return {values.begin(), values.end()};
}

void copy_from_host(std::span<const float> values, const HostMirror& memory) {
  std::ranges::copy(values, memory.floats().begin());
  memory.upload();
}

bool all_finite(const HostMirror& memory) {
  constexpr uint32_t exponent = 0x7f800000;
  bool finite = true;
  for (const float value : memory.download())
    finite &= (std::bit_cast<uint32_t>(value) & exponent) != exponent;
  return finite;
}

}  // namespace lockstep
