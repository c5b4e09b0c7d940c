#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace lockstep {

// Turns raw values into what the network sees: (raw - shift) * scale. Saved with a model, so that a
// new image is treated as the training images were.
struct Normalizer {
  std::string type = "none";       // none, unit or standardize
  std::vector<float> shift = {0};  // one for all values, or one a channel or feature
  std::vector<float> scale = {1};

  // Values are samples one after the other, the channel or feature innermost.
  void apply(std::span<const uint8_t> raw, std::span<float> out) const;
  void apply(std::span<const float> raw, std::span<float> out) const;
};

// Throws a UserError unless the type is one of the above.
void check_normalizer_type(const std::string& type);

// Throws a UserError when the normalizer has neither one value nor one a channel of the shape.
void check_fits(const Normalizer& normalizer, const Shape& sample);

}  // namespace lockstep
