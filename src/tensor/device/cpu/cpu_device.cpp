#include "tensor/device/cpu/cpu_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tensor/device/cpu/vector_ops.h"

namespace lockstep {

void CpuDevice::add_scaled(std::span<float> into, std::span<const float> from, float factor) {
  pool_.split(static_cast<int64_t>(into.size()), 1024, [&](int64_t begin, int64_t end, int) {
    if (factor == 1)
      add_to(into.data() + begin, from.data() + begin, end - begin);
    else
      lockstep::add_scaled(into.data() + begin, from.data() + begin, factor, end - begin);
  });
}

// Chunks of fixed length, added in order: the sum does not depend on the number of threads.
void CpuDevice::dot_products(std::span<const float> a, std::span<const float> b,
                             std::span<const size_t> ends, std::span<double> sums) {
  constexpr size_t chunk = 1 << 14;
  struct Chunk {
    size_t tensor, begin, count;
    double sum;
  };
  std::vector<Chunk> chunks;
  for (size_t tensor = 0, at = 0; tensor < ends.size(); ++tensor) {
    sums[tensor] = 0;
    if (ends[tensor] - at <= chunk && a.size() <= 2 * chunk) {  // too small to split
      sums[tensor] =
          dot_product(a.data() + at, b.data() + at, static_cast<int64_t>(ends[tensor] - at));
      at = ends[tensor];
    }
    for (; at < ends[tensor]; at += chunks.back().count)
      chunks.push_back({tensor, at, std::min(chunk, ends[tensor] - at), 0});
  }
  if (chunks.empty()) return;
  pool_.split(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      Chunk& c = chunks[static_cast<size_t>(i)];
      c.sum = dot_product(a.data() + c.begin, b.data() + c.begin, static_cast<int64_t>(c.count));
    }
  });
  for (const Chunk& c : chunks) sums[c.tensor] += c.sum;
}

std::string CpuDevice::description() const {
  return fmt::format("cpu ({}, {} thread{})", instruction_set(), pool_.threads(),
                     pool_.threads() == 1 ? "" : "s");
}

}  // namespace lockstep
