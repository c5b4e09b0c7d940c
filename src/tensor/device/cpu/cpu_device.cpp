#include "tensor/device/cpu/cpu_device.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "tensor/device/cpu/vector_ops.h"

namespace lockstep {

void CpuDevice::add(std::span<float> into, std::span<const float> from) {
  pool_.split(static_cast<int64_t>(into.size()), 1024, [&](int64_t begin, int64_t end, int) {
    add_to(into.data() + begin, from.data() + begin, end - begin);
  });
}

double CpuDevice::squared_norm(std::span<const float> values) {
  constexpr int64_t piece = 1 << 14;  // pieces of fixed length: the order of the sum is fixed
  const int64_t count = static_cast<int64_t>(values.size());
  std::vector<double> sums(static_cast<size_t>((count + piece - 1) / piece));
  pool_.split(static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      sums[static_cast<size_t>(i)] =
          sum_of_squares(values.data() + i * piece, std::min(piece, count - i * piece));
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::string CpuDevice::description() const {
  return fmt::format("cpu ({}, {} thread{})", instruction_set(), pool_.threads(),
                     pool_.threads() == 1 ? "" : "s");
}

}  // namespace lockstep
