#include "parallel/lbfgs/lbfgs_history.h"

#include "base/error.h"
#include "base/part.h"

namespace lockstep {

ArenaPart::ArenaPart(size_t arena, int64_t parts, int64_t part) {
  const Part blocks = part_of(all_blocks, parts, part);
  const auto begin_of = [&](int64_t block) {
    return static_cast<size_t>(part_of(static_cast<int64_t>(arena), all_blocks, block).begin);
  };
  begin_ = begin_of(blocks.begin);
  for (int64_t block = blocks.begin; block < blocks.end; ++block)
    ends_.push_back(begin_of(block + 1) - begin_);
}

double sum_of_blocks(std::span<const double> blocks) {
  double sum = 0;
  for (const double block : blocks) sum += block;
  return sum;
}

LbfgsHistory::LbfgsHistory(Device& device, int64_t pairs, const ArenaPart& part)
    : device_(device), pairs_(pairs), part_(part) {
  for (int64_t i = 0; i < 2 * pairs; ++i)
    kept_.push_back(device.allocate(part.floats() * sizeof(float)));
}

void LbfgsHistory::remember(int slot, std::span<const float> weights,
                            std::span<const float> weights_before, std::span<const float> gradient,
                            std::span<const float> gradient_before) {
  const auto difference = [&](std::span<const float> now, std::span<const float> before,
                              std::span<float> into) {
    device_.copy(now, into);
    device_.add_scaled(into, before, -1);
  };
  difference(weights, weights_before, kept_[static_cast<size_t>(slot)].floats());
  difference(gradient, gradient_before, kept_[static_cast<size_t>(slot + pairs_)].floats());
}

std::span<const float> LbfgsHistory::vector(size_t index, std::span<const float> gradient) const {
  return index < kept_.size() ? kept_[index].floats() : gradient;
}

void LbfgsHistory::combine(std::span<const double> coefficients, std::span<const float> gradient,
                           std::span<float> direction) const {
  ENSURE(coefficients.size() == kept_.size() + 1);
  device_.copy(gradient, direction);
  device_.scale(direction, static_cast<float>(coefficients.back()));
  for (size_t i = 0; i < kept_.size(); ++i)
    if (coefficients[i] != 0)
      device_.add_scaled(direction, kept_[i].floats(), static_cast<float>(coefficients[i]));
}

std::vector<double> LbfgsHistory::product(std::span<const float> a,
                                          std::span<const float> b) const {
  std::vector<double> sums(part_.ends().size());
  device_.dot_products(a, b, part_.ends(), sums);
  return sums;
}

std::vector<double> LbfgsHistory::products(std::span<const int> vectors,
                                           std::span<const float> gradient) const {
  const size_t basis = kept_.size() + 1, blocks = part_.ends().size();
  std::vector<double> all(vectors.size() * basis * blocks, 0.0);
  const auto is_s = [&](size_t index) { return index < static_cast<size_t>(pairs_); };
  // Block by block, so that a block of each vector is read from memory once.
  for (size_t block = 0, begin = 0; block < blocks; begin = part_.ends()[block++]) {
    const size_t length = part_.ends()[block] - begin;
    for (size_t row = 0; row < vectors.size(); ++row)
      for (size_t other = 0; other < basis; ++other) {
        const auto one = static_cast<size_t>(vectors[row]);
        if (is_s(one) && is_s(other)) continue;
        device_.dot_products(vector(one, gradient).subspan(begin, length),
                             vector(other, gradient).subspan(begin, length), {&length, 1},
                             {&all[(row * basis + other) * blocks + block], 1});
      }
  }
  return all;
}

std::vector<HostMirror> LbfgsHistory::mirrors() {
  std::vector<HostMirror> all;
  for (DeviceMemory& memory : kept_) all.emplace_back(&device_, memory.floats());
  return all;
}

}  // namespace lockstep
