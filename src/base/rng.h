#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lockstep {

// Purpose of a random stream; part of its key, so that different purposes get different streams.
enum class Purpose : uint32_t {
  initial_weights = 1,
  shuffle = 2,
  split = 3,
  dropout = 4,
  noise = 5,
  sampling = 6
};

// A counter-based generator (Philox4x32 with 7 rounds): number i of a stream is a function of
// (seed, purpose, a, b, i) alone, so a sample sees the same numbers on every rank.
class Rng {
 public:
  Rng(uint64_t seed, Purpose purpose, uint64_t a = 0, uint64_t b = 0);

  uint32_t next();
  double uniform();              // in [0, 1)
  uint64_t below(uint64_t end);  // in [0, end), without bias
  double normal();

  // Numbers 4 * index .. 4 * index + 3 of the stream.
  std::array<uint32_t, 4> block(uint64_t index) const;

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 2> stream_;
  std::array<uint32_t, 4> ready_{};
  uint64_t drawn_ = 0;
};

void shuffle(std::span<int64_t> items, Rng& rng);

}  // namespace lockstep
