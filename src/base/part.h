#pragma once

#include <cstdint>

namespace lockstep {

// The contiguous part of [0, total) that belongs to `index` of `count`; parts differ by one at
// most.
struct Part {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
inline Part part_of(int64_t total, int64_t count, int64_t index) {
  return {total * index / count, total * (index + 1) / count};
}

}  // namespace lockstep
