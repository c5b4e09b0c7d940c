#include "nn/network.h"

#include <algorithm>

#include "base/error.h"
#include "nn/registry.h"
#include "nn/sequence.h"

namespace lockstep {

Network::Network(std::vector<std::string> lines, const Shape& input)
    : lines_(std::move(lines)), input_(input), layers_(parse_layers(lines_)) {
  if (layers_.empty())
    throw UserError(
        "model.layers is empty: a network needs at least one layer (or model.from, a directory to "
        "take it from)");
  output_ = output_of(layers_, input).shape;
  expect_ties();
  double floats = 0;  // in double: a product of extents may overflow 64 bits
  for (const ParameterSpec& p : parameters()) {
    double size = 1;
    for (int axis = 0; axis < p.stored.rank(); ++axis) size *= static_cast<double>(p.stored[axis]);
    floats += size;
  }
  if (floats > 1e12)
    throw UserError("the network has {:.3g} parameters, more than any memory holds", floats);
}

// The first tensor of the network must have the shape that tied layers expect.
void Network::expect_ties() const {
  std::vector<ParameterSpec> first;
  visit(layers_, input_, [&](const Layer& layer, const std::string& name, const SampleShape& in) {
    if (first.empty()) first = layer.parameters(in);
    if (first.empty()) first = layer.state(in);
    const std::optional<Shape> wanted = layer.tied_to(in);
    if (wanted && (first.empty() || !(first[0].stored == *wanted)))
      throw UserError("layer {} \"{}\" shares a table of {} with the first layer, which has {}",
                      name, layer.text(), wanted->text(),
                      first.empty() ? "none" : first[0].stored.text());
  });
}

std::vector<LayerTensor> Network::weight_tensors() const {
  return tensors([](const Layer& layer, const SampleShape& in) { return layer.parameters(in); });
}

std::vector<LayerTensor> Network::state_tensors() const {
  return tensors([](const Layer& layer, const SampleShape& in) { return layer.state(in); });
}

template <typename Get>
std::vector<LayerTensor> Network::tensors(Get get) const {
  std::vector<LayerTensor> all;
  size_t index = 0;
  visit(layers_, input_, [&](const Layer& layer, const std::string& name, const SampleShape& in) {
    for (ParameterSpec& spec : of_layer(get(layer, in), name)) all.push_back({spec, index});
    ++index;
  });
  return all;
}

std::vector<ParameterSpec> Network::parameters() const {
  return parameters_of(layers_, input_, "");
}

std::vector<ParameterSpec> Network::state() const { return state_of(layers_, input_, ""); }

bool Network::has_statistics() const {
  const std::vector<ParameterSpec> tensors = state();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const ParameterSpec& spec) { return !spec.frozen; });
}

int64_t Network::parameter_count() const {
  int64_t total = 0;
  for (const ParameterSpec& p : parameters()) total += p.stored.elements();
  return total;
}

double Network::flops() const { return flops_of(layers_, input_); }

void Network::expect_outputs(int64_t count, const std::string& of_what) const {
  if (output_.is_sequence() && output_.channels() >= count) return;  // some tokens may be unused
  if (output_.elements() == count) return;
  if (output_.is_sequence())
    throw UserError("the network has a vocabulary of {}, but the tokens of {} need {}",
                    output_.channels(), of_what, count);
  throw UserError(
      "the network's last layer \"{}\" gives {} outputs ({}), but {} has {} classes; end it with "
      "\"dense {}\"",
      layers_.back()->text(), output_.elements(), output_.text(), of_what, count, count);
}

}  // namespace lockstep
