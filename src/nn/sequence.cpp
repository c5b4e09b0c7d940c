#include "nn/sequence.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "nn/layers/pool.h"
#include "nn/layers/simple.h"
#include "os/buffer.h"

namespace lockstep {

SampleShape visit(const Layers& layers, const SampleShape& in, const VisitLayer& use) {
  std::map<std::string, int> seen;
  SampleShape signal = in;
  for (const auto& layer : layers) {
    const std::string name =
        layer->name().value_or(layer->kind() + std::to_string(++seen[layer->kind()]));
    use(*layer, name, signal);
    try {
      signal = layer->output(signal);
    } catch (const UserError& error) {
      throw UserError("layer {} \"{}\" {}", name, layer->text(), error.what());
    }
  }
  return signal;
}

std::vector<ParameterSpec> of_layer(std::vector<ParameterSpec> specs, const std::string& layer) {
  if (!layer.empty())
    for (ParameterSpec& spec : specs) spec.name = layer + "." + spec.name;
  return specs;
}

SampleShape output_of(const Layers& layers, const SampleShape& in) {
  return visit(layers, in, [](const Layer&, const std::string&, const SampleShape&) {});
}

namespace {

void append(std::vector<ParameterSpec>& all, std::vector<ParameterSpec> some,
            const std::string& prefix, const std::string& layer) {
  for (ParameterSpec& spec : of_layer(std::move(some), layer)) {
    spec.name = prefix + spec.name;
    all.push_back(std::move(spec));
  }
}

bool is_relu(const Layer& layer) {
  const auto* activation = dynamic_cast<const Activation*>(&layer);
  return activation && activation->activation() == ActivationKind::relu;
}

bool is_plain_max_pool(const Layer& layer) {
  const auto* pool = dynamic_cast<const Pool*>(&layer);
  return pool && pool->is_plain_max_2x2();
}

}  // namespace

std::vector<ParameterSpec> parameters_of(const Layers& layers, const SampleShape& in,
                                         const std::string& prefix) {
  std::vector<ParameterSpec> all;
  visit(layers, in, [&](const Layer& layer, const std::string& name, const SampleShape& signal) {
    append(all, layer.parameters(signal), prefix, name);
  });
  return all;
}

std::vector<ParameterSpec> state_of(const Layers& layers, const SampleShape& in,
                                    const std::string& prefix) {
  std::vector<ParameterSpec> all;
  visit(layers, in, [&](const Layer& layer, const std::string& name, const SampleShape& signal) {
    append(all, layer.state(signal), prefix, name);
  });
  return all;
}

double flops_of(const Layers& layers, const SampleShape& in) {
  double total = 0;
  visit(layers, in, [&](const Layer& layer, const std::string&, const SampleShape& signal) {
    total += layer.flops(signal);
  });
  return total;
}

std::vector<LayerRange> fused_layers(const Layers& layers) {
  std::vector<LayerRange> groups;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    if (layers[i]->fuses_relu() && end < layers.size() && is_relu(*layers[end])) ++end;
    if (layers[i]->fuses_max_pool() && end < layers.size() && is_plain_max_pool(*layers[end]))
      ++end;
    groups.push_back({i, end});
    i = end;
  }
  return groups;
}

Tensors first_tensor(const Layer& layer, const SampleShape& in) {
  Tensors first{.weights = layer.parameters(in), .state = {}};
  if (first.weights.empty()) first.state = layer.state(in);
  for (std::vector<ParameterSpec>* some : {&first.weights, &first.state})
    if (some->size() > 1) some->erase(some->begin() + 1, some->end());
  return first;
}

bool borrows_first_tensor(const Layers& layers, const SampleShape& in, const LayerRange& range) {
  bool borrows = false;
  size_t i = 0;
  visit(layers, in, [&](const Layer& layer, const std::string&, const SampleShape& shape) {
    borrows = borrows || (range.contains(i++) && layer.tied_to(shape).has_value());
  });
  return borrows && range.begin > 0;
}

Sequence::Sequence(Device& device, const Layers& layers, const Shape& in, int64_t batch,
                   bool needs_dx, const std::string& prefix, uint64_t first_index, bool sparse,
                   const LayerRange& range)
    : device_(device) {
  struct Named {
    const Layer* layer;
    std::string name;
    SampleShape in;
  };
  std::vector<Named> line;
  const SampleShape last =
      visit(layers, in, [&](const Layer& l, const std::string& n, const SampleShape& s) {
        line.push_back({&l, prefix + n, s});
      });

  // needed[i]: the part of layer i's input that is read, found from the last layer back.
  std::vector<Shape> needed(line.size() + 1, last.shape);
  for (size_t i = line.size(); i-- > 0;)
    needed[i] = line[i].layer->needed_input(line[i].in.shape, needed[i + 1]);
  needed[0] = in;  // the caller's samples are whole
  // Only convolution and pooling can skip part of their output; all other layers map their whole
  // input.
  for (size_t i = 0; i < line.size(); ++i)
    if (!line[i].layer->cuts_output()) needed[i + 1] = line[i].layer->output(needed[i]).shape;
  in_floats_ = needed[std::min(range.begin, line.size())].elements();
  out_floats_ = needed[std::min(range.end, line.size())].elements();

  if (sparse && (line.empty() || !line[0].layer->takes_sparse()))
    throw UserError("these samples have sparse features, so the first layer must be dense{}",
                    line.empty() ? "" : fmt::format(", not \"{}\"", line[0].layer->text()));
  bool ties = false;
  for (size_t i = 0; i < line.size(); ++i)
    ties = ties || (range.contains(i) && line[i].layer->tied_to(line[i].in).has_value());
  if (borrows_first_tensor(layers, in, range)) {
    const Tensors first = first_tensor(*line[0].layer, line[0].in);
    weight_floats_ = arena_floats(first.weights);
    state_floats_ = arena_floats(first.state);
  }
  const bool later = range.begin > 0;  // layers before the range may have weights
  size_t scratch = 0;
  int64_t widest = 0;
  for (const LayerRange& fused : fused_layers(layers)) {
    const size_t i = fused.begin;
    if (!range.contains(i)) continue;
    ENSURE(range.contains(fused.end - 1));
    const Named& first = line[i];
    Placement place{.batch = batch,
                    .in = needed[i],
                    .out = needed[i + 1],
                    .needs_dx = needs_dx || later || weight_floats_ > 0,
                    .sparse = sparse && i == 0,
                    .tied = i == 0 && ties,
                    .index = first_index + i};
    Step step{.name = first.name,
              .in = needed[i].elements(),
              .weights = first.layer->tied_to(first.in) ? 0 : weight_floats_,
              .state = first.layer->tied_to(first.in) ? 0 : state_floats_,
              .weights_below = weight_floats_ > 0,
              .flops = first.layer->flops(first.in)};
    step.weight_count = arena_floats(first.layer->parameters(first.in));
    weight_floats_ += step.weight_count;
    state_floats_ += arena_floats(first.layer->state(first.in));
    for (size_t next = i + 1; next < fused.end; ++next) {
      place.relu = place.relu || is_relu(*line[next].layer);
      place.max_pool = place.max_pool || is_plain_max_pool(*line[next].layer);
      step.name += "+" + line[next].name;
    }
    step.out = needed[fused.end].elements();
    step.kernel = first.layer->prepare(device, place);
    if (!step.kernel) continue;  // flatten: same memory, different shape
    const KernelNeeds needs = step.kernel->needs();
    step.output = stash_;
    stash_ += padded_bytes(batch * step.out);
    step.stash = stash_;
    stash_ += round_up(needs.stash, cache_line);
    step.memory = memory_;
    memory_ += round_up(needs.memory, cache_line);
    scratch = std::max(scratch, needs.scratch);
    if (!steps_.empty()) widest = std::max(widest, step.in);  // the caller owns the first dx
    steps_.push_back(std::move(step));
  }
  gradient_bytes_ = padded_bytes(batch * widest);
  scratch_ = 2 * gradient_bytes_ + round_up(scratch, cache_line);
}

float* Sequence::output_of_step(const Pass& pass, size_t step) const {
  if (step + 1 == steps_.size()) return pass.y;
  return reinterpret_cast<float*>(pass.stash + steps_[step].output);
}

void Sequence::forward(const Pass& pass) {
  const auto floats = static_cast<size_t>(pass.rows * in_floats_);
  if (steps_.empty()) device_.copy({pass.x, floats}, {pass.y, floats});
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    Pass p = pass;
    p.x = i == 0 ? pass.x : output_of_step(pass, i - 1);
    p.y = output_of_step(pass, i);
    p.weights = pass.weights + step.weights;
    p.state = pass.state + step.state;
    p.stash = pass.stash + step.stash;
    p.memory = pass.memory ? pass.memory + step.memory : nullptr;
    p.scratch = pass.scratch + 2 * gradient_bytes_;
    step.kernel->forward(p);
    if (pass.listener) pass.listener->layer_done(step.name, false, {});
  }
}

void Sequence::backward(const Pass& pass) {
  const auto floats = static_cast<size_t>(pass.rows * in_floats_);
  if (steps_.empty() && pass.dx) device_.copy({pass.dy, floats}, {pass.dx, floats});
  float* dy = pass.dy;
  for (size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    float* other = reinterpret_cast<float*>(pass.scratch + (i % 2 ? gradient_bytes_ : 0));
    Pass p = pass;
    p.x = i == 0 ? pass.x : output_of_step(pass, i - 1);
    p.y = output_of_step(pass, i);
    p.dy = dy;
    // Below the first layer with weights, dx is computed only if the caller needs it.
    const bool wanted = i == 0 ? pass.dx != nullptr : pass.dx || step.weights_below;
    p.dx = !wanted ? nullptr : i == 0 ? pass.dx : other;
    p.weights = pass.weights + step.weights;
    p.gradients = pass.gradients + step.weights;
    p.state = pass.state + step.state;
    p.stash = pass.stash + step.stash;
    p.scratch = pass.scratch + 2 * gradient_bytes_;
    step.kernel->backward(p);
    if (pass.listener)
      pass.listener->layer_done(step.name, true,
                                {p.gradients, static_cast<size_t>(step.weight_count)});
    if (!wanted) break;
    dy = p.dx;
  }
}

}  // namespace lockstep
