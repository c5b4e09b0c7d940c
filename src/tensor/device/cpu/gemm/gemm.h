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

// c = relu(a b + bias) (+ c), c row-major. The order of a sum depends on k alone: neither the
// number of rows nor of threads changes a bit of the result. (One row times a transposed b has an
// order of its own, so that b is read at the speed of memory: a language model's next word. So have
// results of up to four columns.)
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  Matrix a{}, b{};
  float* c = nullptr;
  int64_t c_stride = 0;
  bool accumulate = false;
  const float* bias = nullptr;  // readable to the end of its last cache line
  bool relu = false;
};

constexpr int64_t depth_block = 256;  // terms summed in registers before they are added to c

size_t gemm_scratch_bytes(int threads);
void run(const Gemm& gemm, ThreadPool& pool, std::byte* scratch);
// The same within one thread; for callers that are inside a split loop already.
void run_alone(const Gemm& gemm, std::byte* scratch);

}  // namespace lockstep
