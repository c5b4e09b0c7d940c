#pragma once

#include <cstdint>

#include "base/enum_text.h"

namespace lockstep {

// Which samples a rank sees: cut from one shuffled order in each epoch, or always its own part.
enum class Parts { shuffled, contiguous, strided };
template <>
inline constexpr auto enum_texts<Parts> = std::array{"shuffled", "contiguous", "strided"};

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
