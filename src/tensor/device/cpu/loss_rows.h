#pragma once

#include <cstdint>

#include "tensor/kernel.h"

namespace lockstep {

// The binary cross-entropy of one row of outputs, summed; where dz is given, its gradient × scale.
double sigmoid_loss(const float* z, const float* target, float* dz, float scale, int64_t outputs);

// The cross-entropy of softmax for rows of which each has a class.
LossSums softmax_loss(int64_t rows, const float* y, const int32_t* labels, float* dy, float scale,
                      int64_t outputs);

}  // namespace lockstep
