#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/layer.h"

namespace lockstep {

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
  int64_t parameter_count() const;
  double flops() const;  // forward, one sample

  // Throws a UserError unless there is one output per class; a vocabulary may be larger.
  void expect_outputs(int64_t count, const std::string& of_what) const;

 private:
  void expect_ties() const;

  std::vector<std::string> lines_;
  Shape input_, output_;
  Layers layers_;
};

}  // namespace lockstep
