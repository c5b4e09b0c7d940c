#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/device.h"

namespace lockstep {

// Determines the initial values of a parameter.
enum class Role { weight, bias, scale, shift };

// One tensor of a layer. Kernels use the stored layout, files that of PyTorch: `axes` permutes the
// stored axes into the order of files, `canonical` is the shape in files.
struct ParameterSpec {
  std::string name;
  Shape stored;
  std::vector<int> axes;
  Shape canonical;
  Role role = Role::weight;
  int64_t fan_in = 1, fan_out = 1;
  std::optional<double> deviation = {};  // initial values are normal, instead of Init's default
  bool frozen = false;                   // part of the state: a weight that is not trained
};

// The shape of one sample between layers. `image`: its shape before a flatten, else the same.
struct SampleShape {
  Shape shape;
  Shape image;

  SampleShape(const Shape& s) : shape(s), image(s) {}
  SampleShape(const Shape& s, const Shape& i) : shape(s), image(i) {}
};

// A layer's position in a prepared network.
struct Placement {
  int64_t batch = 0;
  Shape in;   // as stored, without rows and columns that the previous layer skips
  Shape out;  // of this layer alone, before fused layers
  bool relu = false, max_pool = false;  // fused with this layer
  bool needs_dx = true;
  bool sparse = false;  // the input is sparse rows
  bool tied = false;    // a later layer uses this one's first tensor
  bool frozen = false;  // the weights get no gradients
  uint64_t index = 0;   // identifies the layer within the whole network, nested layers included
};

// One layer of a network's description. Layers hold no values: weights are in Parameters, and what
// forward keeps for backward is in the stash of the pass.
class Layer {
 public:
  virtual ~Layer() = default;
  // For networks whose files prescribe names. Other layers are numbered by kind: "conv1", "conv2".
  void set_name(std::string name) { name_ = std::move(name); }
  const std::optional<std::string>& name() const { return name_; }

  virtual std::string kind() const = 0;  // "conv"
  virtual std::string text() const = 0;  // as in a configuration: "conv 32 3x3"
  virtual SampleShape output(
      const SampleShape& in) const = 0;  // throws a UserError if the input does not fit
  virtual std::vector<ParameterSpec> parameters(const SampleShape&) const { return {}; }
  virtual std::vector<ParameterSpec> state(const SampleShape&) const { return {}; }
  virtual double flops(const SampleShape&) const { return 0; }  // forward, one sample

  // The part of the input that the first rows and columns of the output depend on.
  virtual Shape needed_input(const Shape& in, const Shape& needed_output) const {
    static_cast<void>(needed_output);
    return in;
  }
  // Whether the layer can skip the last rows and columns of its output.
  virtual bool cuts_output() const { return false; }
  virtual bool takes_sparse() const { return false; }
  virtual bool fuses_relu() const { return false; }
  virtual bool fuses_max_pool() const { return false; }

  // For a layer that uses the network's first tensor as its weights: the shape it must have.
  virtual std::optional<Shape> tied_to(const SampleShape&) const { return std::nullopt; }

  // Null: the output is the input, unchanged in memory.
  virtual std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const = 0;

 private:
  std::optional<std::string> name_;
};

using Layers = std::vector<std::unique_ptr<Layer>>;

// Layers [begin, end) of a list; the default is all of them.
struct LayerRange {
  size_t begin = 0, end = SIZE_MAX;

  bool contains(size_t layer) const { return layer >= begin && layer < end; }
  bool operator==(const LayerRange&) const = default;
};

// Size of these tensors in an arena, in floats; each tensor starts on a cache line.
int64_t arena_floats(const std::vector<ParameterSpec>& tensors);

}  // namespace lockstep
