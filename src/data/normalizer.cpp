#include "data/normalizer.h"

#include "base/error.h"

namespace lockstep {
namespace {

bool all_equal(const std::vector<float>& values) {
  for (const float value : values)
    if (value != values.front()) return false;
  return true;
}

// Simple enough for the compiler to vectorise.
template <typename Raw>
void apply_one(std::span<const Raw> raw, float* __restrict out, float shift, float scale) {
  for (size_t i = 0; i < raw.size(); ++i) out[i] = (static_cast<float>(raw[i]) - shift) * scale;
}

template <typename Raw>
void apply_all(const Normalizer& normalizer, std::span<const Raw> raw, std::span<float> out) {
  const std::vector<float>&shift = normalizer.shift, &scale = normalizer.scale;
  const size_t period = scale.size();
  ENSURE(period > 0 && shift.size() == period && raw.size() % period == 0);
  ENSURE(out.size() >= raw.size());
  if (all_equal(shift) && all_equal(scale))
    return apply_one(raw, out.data(), shift.front(), scale.front());
  for (size_t start = 0; start < raw.size(); start += period)
    for (size_t c = 0; c < period; ++c)
      out[start + c] = (static_cast<float>(raw[start + c]) - shift[c]) * scale[c];
}

}  // namespace

void Normalizer::apply(std::span<const uint8_t> raw, std::span<float> out) const {
  apply_all(*this, raw, out);
}

void Normalizer::apply(std::span<const float> raw, std::span<float> out) const {
  apply_all(*this, raw, out);
}

void check_fits(const Normalizer& normalizer, const Shape& sample) {
  const size_t values = normalizer.scale.size();
  const auto wanted = static_cast<size_t>(sample.channels());
  if (normalizer.shift.size() != values || (values != 1 && values != wanted))
    throw UserError(
        "a normalisation of {} shifts and {} scales does not fit samples of shape {}; "
        "expected 1 or {} of each",
        normalizer.shift.size(), values, sample.text(), wanted);
}

}  // namespace lockstep
