#pragma once

#include <cstdint>

#include "base/enum_text.h"

namespace lockstep {

// Which samples a rank sees: a part of each epoch's shuffled order, or always the same part.
enum class Parts { shuffled, contiguous, strided };
template <>
inline constexpr auto enum_texts<Parts> = std::array{"shuffled", "contiguous", "strided"};

// The contiguous part of [0, total) that belongs to `index` of `count`; sizes differ by at
// most one.
struct Part {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
inline Part part_of(int64_t total, int64_t count, int64_t index) {
  return {total * index / count, total * (index + 1) / count};
}

}  // namespace lockstep
