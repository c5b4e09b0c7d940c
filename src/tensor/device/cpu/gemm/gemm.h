#pragma once

#include <cstddef>
#include <cstdint>

#include "os/thread_pool.h"

namespace lockstep {

// A matrix in memory: element (i, j) is data[i * row_stride + j * column_stride].
struct Matrix {
  const float* data;
  int64_t row_stride;
  int64_t column_stride;
};

inline Matrix row_major(const float* data, int64_t columns) { return {data, columns, 1}; }
inline Matrix transposed(const float* data, int64_t columns) { return {data, 1, columns}; }

// c = relu((c +) a b + bias), c row-major. The order of a sum depends on k alone: neither the
// number of rows nor of threads changes a bit of the result. (Exceptions with a different order:
// one row times a transposed b, to read b at memory speed for a language model's next word; and
// results of up to four columns.)
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  Matrix a{}, b{};
  float* c = nullptr;
  int64_t c_stride = 0;
  bool accumulate = false;
  const float* bias = nullptr;  // one value per column; null: none
  bool relu = false;
};

constexpr int64_t depth_block = 256;  // terms summed in registers before they are added to c

size_t gemm_scratch_bytes(int threads);
void run(const Gemm& gemm, ThreadPool& pool, std::byte* scratch);
// The same within one thread, for callers inside ThreadPool::split.
void run_alone(const Gemm& gemm, std::byte* scratch);

}  // namespace lockstep
