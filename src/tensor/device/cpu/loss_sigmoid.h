#pragma once

#include <cstdint>

namespace lockstep {

// The binary cross-entropy of one row of outputs, summed; where dz is given, its gradient × scale.
double sigmoid_loss(const float* z, const float* target, float* dz, float scale, int64_t outputs);

}  // namespace lockstep
