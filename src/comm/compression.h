#pragma once

#include <cstdint>
#include <span>

#include "base/enum_text.h"

namespace lockstep {

// How gradients are sent: as they are, rounded to 16 bits, or only the largest.
//   bf16: 8 bits of precision, the range of a float
//   fp16: 11 bits; values are multiplied by 1024 first, so that 6e-8 to 64 have full precision.
//         Larger values become 64.
//   top-k: see parallel/gradients/largest_values.h; the functions here are for 16 bits
enum class Compression { none, bf16, fp16, top_k };
template <>
inline constexpr auto enum_texts<Compression> = std::array{"none", "bf16", "fp16", "top-k"};
constexpr bool is_16_bits(Compression c) {
  return c == Compression::bf16 || c == Compression::fp16;
}

// Rounds to the nearest value, ties to even. NaN and infinity stay what they are. Encoding what was
// decoded gives the same bits.
void encode(std::span<const float> values, std::span<uint16_t> bits, Compression compression);
void decode(std::span<const uint16_t> bits, std::span<float> values, Compression compression);
// What decoding gives after encoding.
void round(std::span<float> values, Compression compression);

}  // namespace lockstep
