#include "os/library.h"
#include "tensor/device/cpu/conv/conv_algorithms.h"
#include "tensor/onednn/convolutions.h"

namespace lockstep {
namespace {

const OneDnnConvolutions& onednn() {
  static const OneDnnConvolutions* loaded =
      load_library<OneDnnConvolutions>("lockstep_onednn.so", "lockstep_onednn_convolutions");
  return *loaded;
}

// Building a primitive and reordering take about 50 microseconds per call. Of many shapes measured,
// oneDNN is the fastest on few, and only slightly (build/conv_algorithms).
double cost(const ConvSpec& s) {
  return s.flops() / 60 + 50000.0 / static_cast<double>(s.batch) +
         2 * static_cast<double>(s.in.elements() + s.out.elements());
}

}  // namespace

ConvCandidate<ConvForward> onednn_forward() {
  return {"onednn", cost,
          [](const ConvSpec& s, ThreadPool& pool) { return onednn().forward(s, pool); }};
}

ConvCandidate<ConvWeightGradient> onednn_weight_gradient() {
  return {"onednn", cost,
          [](const ConvSpec& s, ThreadPool& pool) { return onednn().weight_gradient(s, pool); }};
}

ConvCandidate<ConvInputGradient> onednn_input_gradient() {
  return {"onednn", cost,
          [](const ConvSpec& s, ThreadPool& pool) { return onednn().input_gradient(s, pool); }};
}

}  // namespace lockstep
