#pragma once

#include <cstdint>
#include <span>

#include "os/files.h"

namespace lockstep {

// A rows × columns array of floats as NumPy's .npy, version 1.0.
void write_npy(const fs::path& path, std::span<const float> values, int64_t columns);

}  // namespace lockstep
