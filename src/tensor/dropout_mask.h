#pragma once

#include <algorithm>
#include <bit>

#include "base/rng.h"
#include "tensor/kernel.h"
#include "tensor/specs.h"

namespace lockstep {

// The units of one sample that dropout keeps. Depends only on (seed, layer, epoch, sample), so it
// is the same on every device and rank. Each unit draws 16 bits: the rate is exact to 1/65536.
class DropoutMask {
 public:
  DropoutMask(const DropoutSpec& spec, const SampleKeys& keys, int64_t row)
      : rng_(keys.seed, Purpose::dropout, std::rotl(spec.layer, 32) ^ keys.epoch,
             static_cast<uint64_t>(keys.ids[static_cast<size_t>(row)])),
        threshold_(static_cast<uint32_t>(spec.rate * 65536.0f)),
        scale_(1.0f / (1.0f - spec.rate)) {}

  bool keeps(int64_t unit) const {
    return keeps(rng_.block(static_cast<uint64_t>(unit) / 8), unit % 8);
  }
  float scale() const { return scale_; }

  // Calls use(unit, factor) for units begin up to end; the factor is 0 or 1 / (1 - rate).
  template <typename Use>
  void for_each(int64_t begin, int64_t end, Use use) const {
    for (int64_t first = begin / 8 * 8; first < end; first += 8) {
      const auto bits = rng_.block(static_cast<uint64_t>(first) / 8);
      for (int64_t i = std::max<int64_t>(0, begin - first); i < 8 && first + i < end; ++i)
        use(first + i, keeps(bits, i) ? scale_ : 0.0f);
    }
  }

 private:
  bool keeps(const std::array<uint32_t, 4>& bits, int64_t of_eight) const {
    const uint32_t word = bits[static_cast<size_t>(of_eight / 2)];
    return (of_eight % 2 ? word >> 16 : word & 0xffff) >= threshold_;
  }

  Rng rng_;
  uint32_t threshold_;
  float scale_;
};

}  // namespace lockstep
