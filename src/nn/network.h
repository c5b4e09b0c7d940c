#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/layer.h"

namespace lockstep {

// A tensor of a network.
struct LayerTensor {
  ParameterSpec spec;  // with its full name
  size_t layer = 0;    // index in layers()
};

// A network as described: layers whose shapes fit each other and the input. It holds no values and
// no device; Parameters and Program are built from it.
class Network {
 public:
  Network(std::vector<std::string> lines, const Shape& input);

  const Shape& input() const { return input_; }
  Shape output() const { return output_; }
  const Layers& layers() const { return layers_; }
  const std::vector<std::string>& lines() const { return lines_; }
  std::vector<ParameterSpec> parameters() const;
  std::vector<ParameterSpec> state() const;
  // The same, with the layers that own them.
  std::vector<LayerTensor> weight_tensors() const;
  std::vector<LayerTensor> state_tensors() const;
  int64_t parameter_count() const;
  // Whether part of the state changes during training.
  bool has_statistics() const;
  double flops() const;  // forward, one sample

  // Throws a UserError unless there is one output per class; a vocabulary may be larger.
  void expect_outputs(int64_t count, const std::string& of_what) const;

 private:
  void expect_ties() const;
  template <typename Get>
  std::vector<LayerTensor> tensors(Get get) const;

  std::vector<std::string> lines_;
  Shape input_, output_;
  Layers layers_;
};

}  // namespace lockstep
