#pragma once

#include <functional>

#include "os/files.h"

namespace lockstep {

// A rank that reads only its own, contiguous part of the training samples. `read` fills `out` from
// a byte of a plain file; all ranks call it together.
struct OwnPart {
  int rank = 0, ranks = 1;
  std::function<void(const fs::path& path, uint64_t from, std::span<uint8_t> out)> read;
};

}  // namespace lockstep
