#pragma once

#include "tensor/device/cpu/conv/conv.h"

namespace lockstep {

// What the library lockstep_onednn offers. It is loaded when a convolution first asks for it:
// oneDNN's 40 MB cost every start a millisecond, and most runs never need them.
struct OneDnnConvolutions {
  std::unique_ptr<ConvForward> (*forward)(const ConvSpec&, ThreadPool&);
  std::unique_ptr<ConvWeightGradient> (*weight_gradient)(const ConvSpec&, ThreadPool&);
  std::unique_ptr<ConvInputGradient> (*input_gradient)(const ConvSpec&, ThreadPool&);
};

}  // namespace lockstep

extern "C" const lockstep::OneDnnConvolutions lockstep_onednn_convolutions;
