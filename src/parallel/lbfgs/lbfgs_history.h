#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/device.h"
#include "tensor/host_mirror.h"

namespace lockstep {

// A contiguous part of the arena. The arena is always cut into the same blocks, of which a part has
// some: sums over blocks, added in the order of blocks, do not depend on the number of parts.
class ArenaPart {
 public:
  static constexpr int64_t all_blocks = 64;

  ArenaPart(size_t arena, int64_t parts, int64_t part);

  int64_t blocks() const { return static_cast<int64_t>(ends_.size()); }
  size_t begin() const { return begin_; }
  size_t floats() const { return ends_.empty() ? 0 : ends_.back(); }
  std::span<const size_t> ends() const { return ends_; }  // of blocks, from begin()
  template <typename T>
  std::span<T> of(std::span<T> arena) const {
    return arena.subspan(begin_, floats());
  }

 private:
  size_t begin_ = 0;
  std::vector<size_t> ends_;
};

// Sum of one value per block, in the order of blocks.
double sum_of_blocks(std::span<const double> blocks);

// A part of the arena of each vector that L-BFGS keeps: changes of the weights (s) and of the
// gradient (y). Arguments are arrays of the part.
class LbfgsHistory {
 public:
  LbfgsHistory(Device& device, int64_t pairs, const ArenaPart& part);

  const ArenaPart& part() const { return part_; }
  int pairs() const { return static_cast<int>(pairs_); }
  void remember(int slot, std::span<const float> weights, std::span<const float> weights_before,
                std::span<const float> gradient, std::span<const float> gradient_before);
  // direction = sum of coefficients × basis (see LbfgsVectors).
  void combine(std::span<const double> coefficients, std::span<const float> gradient,
               std::span<float> direction) const;
  // Per block of the part: products of the given vectors with all of the basis, a row for each.
  // Products of two s, which no direction needs, are left at 0.
  std::vector<double> products(std::span<const int> vectors, std::span<const float> gradient) const;
  // Per block of the part.
  std::vector<double> product(std::span<const float> a, std::span<const float> b) const;

  // Part of a checkpoint.
  std::vector<HostMirror> mirrors();

 private:
  std::span<const float> vector(size_t index, std::span<const float> gradient) const;

  Device& device_;
  int64_t pairs_;
  ArenaPart part_;
  std::vector<DeviceMemory> kept_;  // s by slot, then y by slot
};

}  // namespace lockstep
