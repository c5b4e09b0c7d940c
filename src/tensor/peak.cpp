#include "tensor/peak.h"

#include <algorithm>
#include <limits>

#include "os/buffer.h"
#include "os/thread_pool.h"
#include "tensor/device/cpu/gemm/gemm.h"

namespace lockstep {

double sgemm_peak(int threads, const Clock& clock) {
  constexpr int64_t m = 192, n = 512, k = 256;  // fits the second-level cache, tiles evenly
  ThreadPool pool(threads);
  const Buffer a(m * k * sizeof(float)), b(k * n * sizeof(float));
  const Buffer c(static_cast<size_t>(threads) * m * n * sizeof(float));
  const Buffer scratch(gemm_scratch_bytes(threads));
  double best = std::numeric_limits<double>::max();
  for (const double start = clock.seconds(); clock.seconds() - start < 0.1;) {
    const double began = clock.seconds();
    pool.split(threads, 1, [&](int64_t, int64_t, int member) {
      run_alone({.m = m,
                 .n = n,
                 .k = k,
                 .a = row_major(a.floats().data(), k),
                 .b = row_major(b.floats().data(), n),
                 .c = c.floats().data() + member * m * n,
                 .c_stride = n},
                scratch.data() + static_cast<size_t>(member) * gemm_scratch_bytes(1));
    });
    best = std::min(best, clock.seconds() - began);
  }
  return 2.0 * m * n * k * threads / best;
}

}  // namespace lockstep
