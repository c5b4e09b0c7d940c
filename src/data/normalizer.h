#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"
#include "data/data_config.h"

namespace lockstep {

// Maps raw values to inputs of the network: (raw - shift) * scale. Saved with the model, so that
// new samples are normalised like the training samples.
struct Normalizer {
  Normalize type = Normalize::none;
  std::vector<float> shift = {0};  // one for all values, or one per channel or feature
  std::vector<float> scale = {1};

  // raw: samples in sequence, channel or feature innermost.
  void apply(std::span<const uint8_t> raw, std::span<float> out) const;
  void apply(std::span<const float> raw, std::span<float> out) const;
};

// Throws a UserError unless the normalizer has one value, or one per channel of the shape.
void check_fits(const Normalizer& normalizer, const Shape& sample);

}  // namespace lockstep
