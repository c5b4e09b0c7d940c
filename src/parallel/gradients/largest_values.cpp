#include "parallel/gradients/largest_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

uint32_t size_of(float value) { return std::bit_cast<uint32_t>(value) & 0x7fff'ffff; }

// The k-th largest size of the values, and how many of the values with this size are among the k.
struct Threshold {
  uint32_t size = 0;
  size_t ties = 0;
};

// Sizes are compared as integers, 11 and 10 bits at a time, so that three passes suffice.
Threshold threshold_of(std::span<const float> values, size_t k) {
  uint32_t prefix = 0, known = 0;  // the upper bits of the threshold, and their mask
  size_t wanted = k;
  for (const auto& [shift, bits] : {std::pair(20, 11), {10, 10}, {0, 10}}) {
    std::array<size_t, 2048> counts{};
    const uint32_t mask = (uint32_t{1} << bits) - 1;
    for (const float value : values)
      if ((size_of(value) & known) == prefix) ++counts[size_of(value) >> shift & mask];
    uint32_t digit = mask;
    while (counts[digit] < wanted) wanted -= counts[digit--];
    prefix |= digit << shift;
    known |= mask << shift;
  }
  return {prefix, wanted};
}

}  // namespace

LargestValues::LargestValues(double share, size_t size, const Momentum& momentum)
    : share_(share), momentum_(momentum), left_(size), velocity_(momentum.factor > 0 ? size : 0) {}

size_t LargestValues::count(size_t values) const {
  return std::clamp<size_t>(
      static_cast<size_t>(std::ceil(share_ * static_cast<double>(values) - 1e-9)), 1, values);
}

void LargestValues::select(std::span<const float> gradients, size_t at, std::span<Entry> selected) {
  ENSURE(selected.size() == count(gradients.size()) && at + gradients.size() <= left_.size());
  const std::span<float> left = std::span(left_).subspan(at, gradients.size());
  if (velocity_.empty()) {
    for (size_t i = 0; i < left.size(); ++i) left[i] += gradients[i];
  } else {
    const std::span<float> velocity = std::span(velocity_).subspan(at, gradients.size());
    const float factor = momentum_.factor;
    for (size_t i = 0; i < left.size(); ++i) {
      velocity[i] = factor * velocity[i] + gradients[i];
      left[i] += momentum_.nesterov ? gradients[i] + factor * velocity[i] : velocity[i];
    }
  }
  Threshold threshold = threshold_of(left, selected.size());
  size_t found = 0;
  for (size_t i = 0; found < selected.size(); ++i) {
    const uint32_t size = size_of(left[i]);
    if (size < threshold.size || (size == threshold.size && threshold.ties == 0)) continue;
    if (size == threshold.size) --threshold.ties;
    selected[found++] = {static_cast<uint32_t>(i), left[i]};
    left[i] = 0;
  }
}

std::vector<std::span<float>> LargestValues::arrays() {
  std::vector<std::span<float>> all = {left_};
  if (!velocity_.empty()) all.emplace_back(velocity_);
  return all;
}

void add_entries(std::span<const LargestValues::Entry> entries, std::span<float> sum) {
  for (const auto& [index, value] : entries) {
    ENSURE(index < sum.size());
    sum[index] += value;
  }
}

}  // namespace lockstep
