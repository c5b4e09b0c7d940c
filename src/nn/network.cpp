#include "nn/network.h"

#include "base/error.h"
#include "nn/registry.h"
#include "nn/sequence.h"

namespace lockstep {

Network::Network(std::vector<std::string> lines, const Shape& input)
    : lines_(std::move(lines)), input_(input), layers_(parse_layers(lines_)) {
  if (layers_.empty()) throw UserError("model.layers is empty: a network needs at least one layer");
  output_ = output_of(layers_, input).shape;
  double floats = 0;  // counted in double: a product of extents may be beyond 64 bits
  for (const ParameterSpec& p : parameters()) {
    double size = 1;
    for (int axis = 0; axis < p.stored.rank(); ++axis) size *= static_cast<double>(p.stored[axis]);
    floats += size;
  }
  if (floats > 1e12)
    throw UserError("the network has {:.3g} parameters, more than any memory holds", floats);
}

std::vector<ParameterSpec> Network::parameters() const {
  return parameters_of(layers_, input_, "");
}

std::vector<ParameterSpec> Network::state() const { return state_of(layers_, input_, ""); }

int64_t Network::parameter_count() const {
  int64_t total = 0;
  for (const ParameterSpec& p : parameters()) total += p.stored.elements();
  return total;
}

double Network::flops() const { return flops_of(layers_, input_); }

void Network::expect_outputs(int64_t count, const std::string& of_what) const {
  if (output_.elements() == count) return;
  throw UserError(
      "the network's last layer \"{}\" gives {} outputs ({}), but {} has {} classes; end it with "
      "\"dense {}\"",
      layers_.back()->text(), output_.elements(), output_.text(), of_what, count, count);
}

}  // namespace lockstep
