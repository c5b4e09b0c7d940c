#pragma once

#include "tensor/device/cpu/conv.h"

namespace lockstep {

// conv_implicit_gemm*.cpp: a matrix product that reads windows where they lie. Any shape.
ConvCandidate<ConvForward> implicit_gemm_forward();
ConvCandidate<ConvWeightGradient> implicit_gemm_weight_gradient();
ConvCandidate<ConvInputGradient> implicit_gemm_input_gradient();

}  // namespace lockstep
