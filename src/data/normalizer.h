#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"
#include "data/data_config.h"

namespace lockstep {

// Turns raw values into what the network sees: (raw - shift) * scale. Saved with a model, so that a
// new image is treated as the training images were.
struct Normalizer {
  Normalize type = Normalize::none;
  std::vector<float> shift = {0};  // one for all values, or one per channel or feature
  std::vector<float> scale = {1};

  // Values are samples one after the other, the channel or feature innermost.
  void apply(std::span<const uint8_t> raw, std::span<float> out) const;
  void apply(std::span<const float> raw, std::span<float> out) const;
};

// Throws a UserError when the normalizer has neither one value nor one per channel of the shape.
void check_fits(const Normalizer& normalizer, const Shape& sample);

}  // namespace lockstep
