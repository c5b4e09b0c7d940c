#pragma once

#include <cstdint>

#include "base/rng.h"

namespace lockstep {

enum class Branch { body, shortcut };

// The index (Placement::index) of the first layer inside layer `outer`. Each outer layer reserves
// 1024 indices, the second half for its shortcut, as long as they fit into 32 bits. Layers nested
// deeper get a hash with the top bit set, so that no two layers draw the same random numbers.
inline uint64_t first_index_inside(uint64_t outer, Branch branch) {
  const uint64_t half = branch == Branch::shortcut ? 512 : 0;
  if (outer < uint64_t{1} << 22) return outer * 1024 + half;
  const auto bits = Rng(outer, Purpose::dropout, half).block(0);
  const uint64_t hash = uint64_t{bits[0]} << 32 | bits[1];
  return (hash | uint64_t{1} << 63) & ~uint64_t{1023};
}

}  // namespace lockstep
