#pragma once

#include <cstdint>

#include "tensor/kernel.h"

namespace lockstep {

// Binary cross-entropy summed over one row; dz, if not null, receives its gradient × scale.
double sigmoid_loss(const float* z, const float* target, float* dz, float scale, int64_t outputs);

// Softmax cross-entropy of rows with one label each; dy as dz above.
LossSums softmax_loss(int64_t rows, const float* y, const int32_t* labels, float* dy, float scale,
                      int64_t outputs);

}  // namespace lockstep
