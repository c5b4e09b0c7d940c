#pragma once

#include <algorithm>

#include "os/buffer.h"

namespace lockstep {

// Written once, because memory that was never written is a single page of zeroes and fast to read.
inline Buffer written_buffer(size_t floats) {
  Buffer buffer(floats * sizeof(float));
  std::ranges::fill(buffer.floats(), 1.0f);
  return buffer;
}

}  // namespace lockstep
