#pragma once

#include "tensor/device/cpu/conv/conv.h"

namespace lockstep {

// conv_implicit_gemm*.cpp: a matrix product that reads windows in place. Any shape.
ConvCandidate<ConvForward> implicit_gemm_forward();
ConvCandidate<ConvWeightGradient> implicit_gemm_weight_gradient();
ConvCandidate<ConvInputGradient> implicit_gemm_input_gradient();

// conv_winograd*.cpp: fewer multiplications for 3x3 kernels of stride 1.
ConvCandidate<ConvForward> winograd_forward();
ConvCandidate<ConvInputGradient> winograd_input_gradient();
ConvCandidate<ConvWeightGradient> winograd_weight_gradient();

// conv_tap_rows.cpp: for few channels.
ConvCandidate<ConvWeightGradient> tap_rows_weight_gradient();

// conv_sparse.cpp: backward through max-pooling; work proportional to the nonzero gradients.
ConvCandidate<ConvWeightGradient> sparse_weight_gradient_candidate();
ConvCandidate<ConvInputGradient> sparse_input_gradient_candidate();

// conv_winner_masks.cpp: backward through max-pooling for few channels, in vectors of filters.
ConvCandidate<ConvWeightGradient> winner_mask_weight_gradient();

// conv_onednn.cpp: any shape, by oneDNN's primitives.
ConvCandidate<ConvForward> onednn_forward();
ConvCandidate<ConvWeightGradient> onednn_weight_gradient();
ConvCandidate<ConvInputGradient> onednn_input_gradient();

}  // namespace lockstep
