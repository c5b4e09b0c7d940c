#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nn/layer.h"

namespace lockstep {

// Functions on a list of layers. visit() calls `use` for each, with its name ("conv1", "conv2",
// "dense1") and input, and returns the output of the last.
using VisitLayer =
    std::function<void(const Layer& layer, const std::string& name, const SampleShape& in)>;
SampleShape visit(const Layers& layers, const SampleShape& in, const VisitLayer& use);

SampleShape output_of(const Layers& layers, const SampleShape& in);
// Puts the layer's name, if it has one, in front of the names of its tensors.
std::vector<ParameterSpec> of_layer(std::vector<ParameterSpec> specs, const std::string& layer);
std::vector<ParameterSpec> parameters_of(const Layers& layers, const SampleShape& in,
                                         const std::string& prefix);
std::vector<ParameterSpec> state_of(const Layers& layers, const SampleShape& in,
                                    const std::string& prefix);
double flops_of(const Layers& layers, const SampleShape& in);

// Layers that one kernel computes (one, or one with a relu and a pooling behind it), in order.
std::vector<LayerRange> fused_layers(const Layers& layers);
struct Tensors {
  std::vector<ParameterSpec> weights, state;
};
// The first tensor of a layer, which is part of its state if it is frozen.
Tensors first_tensor(const Layer& layer, const SampleShape& in);
// Whether a layer of the range uses the network's first tensor, which a layer outside of it owns.
bool borrows_first_tensor(const Layers& layers, const SampleShape& in, const LayerRange& range);

// Layers prepared to run on a device: adjacent layers fused if one kernel computes both, outputs
// cropped to what the next layer reads, buffers planned. It is a kernel, so that layers can contain
// sequences.
class Sequence final : public Kernel {
 public:
  // `range`: prepares only these layers, with the shapes that they have in the whole list; it must
  // not separate layers that one kernel computes. Its weights begin with the network's first tensor
  // if it borrows that one.
  Sequence(Device& device, const Layers& layers, const Shape& in, int64_t batch, bool needs_dx,
           const std::string& prefix, uint64_t first_index, bool sparse = false,
           const LayerRange& range = {});

  const char* name() const override { return "sequence"; }
  KernelNeeds needs() const override {
    return {.stash = stash_, .scratch = scratch_, .memory = memory_};
  }
  void forward(const Pass& pass) override;
  void backward(const Pass& pass) override;

  int64_t in_floats() const { return in_floats_; }  // per sample
  int64_t out_floats() const { return out_floats_; }
  int64_t weight_floats() const { return weight_floats_; }
  int64_t state_floats() const { return state_floats_; }

  struct Step {
    std::string name;  // of the layers it runs: "conv1+relu1+maxpool1"
    std::unique_ptr<Kernel> kernel;
    int64_t in = 0, out = 0;                           // floats per sample
    int64_t weights = 0, weight_count = 0, state = 0;  // offsets into the arenas, in floats
    size_t output = 0, stash = 0;  // offsets into the sequence's stash, in bytes
    size_t memory = 0;             // offset into the sequence's memory, in bytes
    bool weights_below = false;    // an earlier step has weights
    double flops = 0;              // forward, per sample, of the whole (uncropped) output
  };
  const std::vector<Step>& steps() const { return steps_; }

 private:
  float* output_of_step(const Pass& pass, size_t step) const;

  Device& device_;
  std::vector<Step> steps_;
  int64_t in_floats_, out_floats_;
  int64_t weight_floats_ = 0, state_floats_ = 0;
  size_t stash_ = 0, scratch_ = 0, memory_ = 0, gradient_bytes_ = 0;
};

}  // namespace lockstep
