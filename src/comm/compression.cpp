#include "comm/compression.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/error.h"

namespace lockstep {
namespace {

constexpr uint32_t infinity = 0x7f80'0000, magnitude_bits = 0x7fff'ffff;
constexpr float fp16_scale = 1024;

// Adds half of the last bit that is kept, a little less if that bit is 0: ties go to even.
constexpr uint32_t rounded(uint32_t bits, int dropped) {
  return bits + (uint32_t{1} << (dropped - 1)) - 1 + ((bits >> dropped) & 1);
}

// Loops over these functions are vectorised: selections instead of branches.

uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const bool is_nan = (bits & magnitude_bits) > infinity;
  return static_cast<uint16_t>((is_nan ? bits | 0x40'0000 : rounded(bits, 16)) >> 16);
}

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t to_fp16(float value) {
  constexpr uint32_t largest = std::bit_cast<uint32_t>(65504.0f);
  constexpr uint32_t smallest_normal = std::bit_cast<uint32_t>(0x1p-14f);
  constexpr uint32_t half = std::bit_cast<uint32_t>(0.5f);
  constexpr uint32_t bias = uint32_t{127 - 15} << 23;  // difference of the exponents' biases
  const auto bits = std::bit_cast<uint32_t>(value * fp16_scale);
  const uint32_t size = bits & magnitude_bits, kept = std::min(size, largest);
  const uint32_t normal = (rounded(kept, 13) - bias) >> 13;
  // The last bit of a subnormal is 2^-24, as that of a float from 0.5 on: the addition rounds.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(kept) + 0.5f) - half;
  uint32_t result = kept < smallest_normal ? subnormal : normal;
  result = std::bit_cast<uint32_t>(value) == (bits & ~magnitude_bits) + infinity ? 0x7c00 : result;
  result = size > infinity ? 0x7e00 : result;
  return static_cast<uint16_t>(result | (bits >> 16 & 0x8000));
}

float from_fp16(uint16_t bits) {
  const uint32_t size = bits & 0x7fff, sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t normal = (size << 13) + (uint32_t{127 - 15} << 23);
  const auto subnormal =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(size)) * 0x1p-24f);
  uint32_t result = size < 0x0400 ? subnormal : normal;
  result = size >= 0x7c00 ? infinity | (size << 13) : result;
  return std::bit_cast<float>(result | sign) * (1 / fp16_scale);
}

}  // namespace

void encode(std::span<const float> values, std::span<uint16_t> bits, Compression compression) {
  ENSURE(values.size() == bits.size() && is_16_bits(compression));
  if (compression == Compression::bf16)
    std::transform(values.begin(), values.end(), bits.begin(), to_bf16);
  else
    std::transform(values.begin(), values.end(), bits.begin(), to_fp16);
}

void decode(std::span<const uint16_t> bits, std::span<float> values, Compression compression) {
  ENSURE(values.size() == bits.size() && is_16_bits(compression));
  if (compression == Compression::bf16)
    std::transform(bits.begin(), bits.end(), values.begin(), from_bf16);
  else
    std::transform(bits.begin(), bits.end(), values.begin(), from_fp16);
}

void round(std::span<float> values, Compression compression) {
  std::array<uint16_t, 4096> bits;
  while (!values.empty()) {
    const std::span<float> some = values.first(std::min(values.size(), bits.size()));
    encode(some, std::span(bits).first(some.size()), compression);
    decode(std::span(bits).first(some.size()), some, compression);
    values = values.subspan(some.size());
  }
}

}  // namespace lockstep
