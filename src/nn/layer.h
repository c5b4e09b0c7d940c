#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/device.h"

namespace lockstep {

// How a parameter starts.
enum class Role { weight, bias, scale, shift };

// One tensor of a layer. Files hold it as PyTorch would (`axes` reorders the stored extents into
// that order, `canonical` is the shape there); kernels see it in the stored layout.
struct ParameterSpec {
  std::string name;
  Shape stored;
  std::vector<int> axes;
  Shape canonical;
  Role role = Role::weight;
  int64_t fan_in = 1, fan_out = 1;
  std::optional<double> deviation = {};  // starts normally distributed, whatever the default is
  bool frozen = false;                   // among the state: a weight that is not trained
};

// What flows between layers: the shape of a sample and, where it was flattened, of the image it
// was.
struct SampleShape {
  Shape shape;
  Shape image;

  SampleShape(const Shape& s) : shape(s), image(s) {}
  SampleShape(const Shape& s, const Shape& i) : shape(s), image(i) {}
};

// Where a layer stands in a prepared network.
struct Placement {
  int64_t batch = 0;
  Shape in;   // as stored: what the producer leaves out is not there
  Shape out;  // what the layer itself computes, before what follows is fused with it
  bool relu = false, max_pool = false;  // fused with this layer
  bool needs_dx = true;
  bool sparse = false;  // the input is sparse rows
  bool tied = false;    // a later layer uses this one's first tensor
  bool frozen = false;  // the weights get no gradients
  uint64_t index = 0;   // counts layers through the whole network
};

// One line of a network's description. Layers hold no numbers: weights live in Parameters, and what
// a batch needs between forward and backward lives in the stash of its pass.
class Layer {
 public:
  virtual ~Layer() = default;
  // Where files expect names of their own; else layers are counted: "conv1", "conv2".
  void set_name(std::string name) { name_ = std::move(name); }
  const std::optional<std::string>& name() const { return name_; }

  virtual std::string kind() const = 0;  // "conv"
  virtual std::string text() const = 0;  // as in a configuration: "conv 32 3x3"
  virtual SampleShape output(
      const SampleShape& in) const = 0;  // throws a UserError where it cannot fit
  virtual std::vector<ParameterSpec> parameters(const SampleShape&) const { return {}; }
  virtual std::vector<ParameterSpec> state(const SampleShape&) const { return {}; }
  virtual double flops(const SampleShape&) const { return 0; }  // forward, one sample

  // What of the input the first rows and columns of the output depend on.
  virtual Shape needed_input(const Shape& in, const Shape& needed_output) const {
    static_cast<void>(needed_output);
    return in;
  }
  // Whether the last rows and columns of the output can be left out, whatever of the input is
  // there.
  virtual bool cuts_output() const { return false; }
  virtual bool takes_sparse() const { return false; }
  virtual bool fuses_relu() const { return false; }
  virtual bool fuses_max_pool() const { return false; }

  // The shape of the network's first tensor, where the layer uses that instead of one of its own.
  virtual std::optional<Shape> tied_to(const SampleShape&) const { return std::nullopt; }

  // Null: the output is the input, unchanged in memory.
  virtual std::unique_ptr<Kernel> prepare(Device& device, const Placement& placement) const = 0;

 private:
  std::optional<std::string> name_;
};

using Layers = std::vector<std::unique_ptr<Layer>>;

// Floats that these tensors take in an arena, each starting on a cache line.
int64_t arena_floats(const std::vector<ParameterSpec>& tensors);

}  // namespace lockstep
