#pragma once

#include <algorithm>

#include "os/buffer.h"

namespace lockstep {

// Memory that was never written is one page of zeroes, and quick to read.
inline Buffer written_buffer(size_t floats) {
  Buffer buffer(floats * sizeof(float));
  std::ranges::fill(buffer.floats(), 1.0f);
  return buffer;
}

}  // namespace lockstep
