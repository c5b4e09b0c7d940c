#include "base/rng.h"

#include <cmath>
#include <utility>

namespace lockstep {
namespace {

uint64_t mix(uint64_t x) {  // splitmix64's finaliser
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace

Rng::Rng(uint64_t seed, Purpose purpose, uint64_t a, uint64_t b) {
  constexpr uint64_t golden = 0x9e3779b97f4a7c15u;
  const uint64_t key = mix(seed + golden * static_cast<uint32_t>(purpose));
  const uint64_t stream = mix(mix(key + golden * (a + 1)) + golden * (b + 1));
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  stream_ = {static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
}

std::array<uint32_t, 4> Rng::block(uint64_t index) const {
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
  uint32_t c2 = stream_[0], c3 = stream_[1];
  uint32_t k0 = key_[0], k1 = key_[1];
  for (int round = 0; round < 7; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c0;
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c2;
    const uint32_t hi0 = static_cast<uint32_t>(p0 >> 32), hi1 = static_cast<uint32_t>(p1 >> 32);
    c0 = hi1 ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = hi0 ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

uint32_t Rng::next() {
  const uint64_t position = drawn_++;
  if (position % 4 == 0) ready_ = block(position / 4);
  return ready_[position % 4];
}

double Rng::uniform() {
  const uint64_t high = next();
  return static_cast<double>((high << 21) ^ (next() >> 11)) * 0x1p-53;
}

uint64_t Rng::below(uint64_t end) {
  for (;;) {
    const uint64_t high = next(), value = (high << 32) | next();
    // Accepts values below a multiple of `end`; the first comparison avoids the division for nearly
    // all values.
    if (value < UINT64_MAX - end || value < UINT64_MAX - UINT64_MAX % end) return value % end;
  }
}

double Rng::normal() {  // Box and Muller
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * 3.14159265358979323846 * uniform());
}

void shuffle(std::span<int64_t> items, Rng& rng) {
  for (size_t left = items.size(); left > 1; --left)
    std::swap(items[left - 1], items[rng.below(left)]);
}

}  // namespace lockstep
