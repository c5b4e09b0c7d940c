#pragma once

#include <functional>

#include "os/files.h"

namespace lockstep {

// For a rank that reads only its own contiguous part of the training samples. `read` fills `out`
// with the bytes of an uncompressed file from offset `from`; it is collective.
struct OwnPart {
  int rank = 0, ranks = 1;
  std::function<void(const fs::path& path, uint64_t from, std::span<uint8_t> out)> read;
};

}  // namespace lockstep
