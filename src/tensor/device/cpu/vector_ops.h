#pragma once

#include <cstdint>

#include "os/thread_pool.h"

namespace lockstep {

// Loops over arrays, with the vector instructions of this machine.

void mask_where_dead(float* dy, const float* y, int64_t count);  // dy = 0 where y <= 0
void add_to(float* into, const float* from, int64_t count);
void add_scaled(float* into, const float* from, float scale, int64_t count);
double dot_product(const float* a, const float* b, int64_t count);
// sums[c] (+)= the sum over rows of matrix[row * columns + c]
void column_sums(const float* matrix, int64_t rows, int64_t columns, float* sums, bool accumulate,
                 ThreadPool& pool);
const char* instruction_set();

}  // namespace lockstep
