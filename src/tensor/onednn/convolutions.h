#pragma once

#include "tensor/device/cpu/conv/conv.h"

namespace lockstep {

// Interface of the library lockstep_onednn. It is loaded when a convolution first needs it:
// oneDNN's 40 MB would add a millisecond to every start, and most runs never need them.
struct OneDnnConvolutions {
  std::unique_ptr<ConvForward> (*forward)(const ConvSpec&, ThreadPool&);
  std::unique_ptr<ConvWeightGradient> (*weight_gradient)(const ConvSpec&, ThreadPool&);
  std::unique_ptr<ConvInputGradient> (*input_gradient)(const ConvSpec&, ThreadPool&);
};

}  // namespace lockstep

extern "C" const lockstep::OneDnnConvolutions lockstep_onednn_convolutions;
