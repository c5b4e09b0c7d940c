#pragma once

#include "tensor/device/cpu/gemm/gemm.h"

namespace lockstep {

// Products in which tiles would be mostly empty: one row, a few columns, or a few terms in a sum.
// Computes rows m0 up to m1, columns n0 up to n1 if `gemm` is one of these, else returns false.
bool run_thin(const Gemm& gemm, int64_t m0, int64_t m1, int64_t n0, int64_t n1, float* scratch,
              int64_t scratch_floats);

}  // namespace lockstep
