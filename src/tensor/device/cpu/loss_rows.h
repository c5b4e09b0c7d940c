#pragma once

#include <cstdint>

namespace lockstep {

// The binary cross-entropy of one row of outputs, summed; where dz is given, its gradient × scale.
double sigmoid_loss(const float* z, const float* target, float* dz, float scale, int64_t outputs);

// The cross-entropy of softmax for a row whose class is `label`; the same, and whether the largest
// output is the label's.
double softmax_loss(const float* y, int64_t label, float* dy, float scale, int64_t outputs,
                    bool& correct);

}  // namespace lockstep
