#include "parallel/pipeline/partition.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "nn/layers/simple.h"
#include "nn/sequence.h"

namespace lockstep {
namespace {

// A value that is moved to or from memory costs about as much as this number of operations.
constexpr double operations_per_value = 16;

// Of each layer, forward and backward.
std::vector<double> layer_costs(const Network& network) {
  std::vector<double> costs;
  visit(network.layers(), network.input(),
        [&](const Layer& layer, const std::string&, const SampleShape& in) {
          const double values =
              static_cast<double>(in.shape.elements() + layer.output(in).shape.elements());
          costs.push_back(3 * (layer.flops(in) + operations_per_value * values));
        });
  return costs;
}

}  // namespace

std::vector<size_t> min_max_partition(const std::vector<double>& costs, size_t parts) {
  const size_t count = costs.size();
  ENSURE(parts >= 1 && count >= parts);
  std::vector<double> before(count + 1, 0);  // sums
  for (size_t i = 0; i < count; ++i) before[i + 1] = before[i] + costs[i];
  // best[k][i]: smallest largest part of the first i costs in k parts; from: where the last begins.
  const double never = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(parts + 1, std::vector<double>(count + 1, never));
  std::vector<std::vector<size_t>> from(parts + 1, std::vector<size_t>(count + 1, 0));
  best[0][0] = 0;
  for (size_t k = 1; k <= parts; ++k)
    for (size_t i = k; i <= count; ++i)
      for (size_t begin = k - 1; begin < i; ++begin) {
        const double largest = std::max(best[k - 1][begin], before[i] - before[begin]);
        if (largest < best[k][i]) best[k][i] = largest, from[k][i] = begin;
      }
  std::vector<size_t> ends(parts);
  size_t end = count;
  for (size_t k = parts; k > 0; --k) {
    ends[k - 1] = end;
    end = from[k][end];
  }
  return ends;
}

std::vector<LayerRange> steps_of(const Network& network) {
  std::vector<LayerRange> steps;
  for (const LayerRange& fused : fused_layers(network.layers())) {
    // A flatten computes nothing: it belongs to the step before it.
    const bool computes =
        dynamic_cast<const Flatten*>(network.layers()[fused.begin].get()) == nullptr;
    if (computes || steps.empty())
      steps.push_back(fused);
    else
      steps.back().end = fused.end;
  }
  return steps;
}

std::vector<LayerRange> parts_of(const Network& network, size_t parts) {
  if (parts == 1) return {{}};
  const std::vector<LayerRange> steps = steps_of(network);
  if (parts > steps.size())
    throw UserError(
        "a network of {} steps (layers that are computed together count as one) cannot be cut into "
        "{} parts; use parallel.pipeline × parallel.chunks of at most {}",
        steps.size(), parts, steps.size());
  const std::vector<double> of_layers = layer_costs(network);
  std::vector<double> costs;
  for (const LayerRange& step : steps) {
    costs.push_back(0);
    for (size_t layer = step.begin; layer < step.end; ++layer) costs.back() += of_layers[layer];
  }
  std::vector<LayerRange> ranges;
  size_t begin = 0;
  for (const size_t end : min_max_partition(costs, parts)) {
    ranges.push_back({steps[begin].begin, steps[end - 1].end});
    begin = end;
  }
  return ranges;
}

}  // namespace lockstep
