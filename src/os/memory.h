#pragma once

#include <cstdint>

namespace lockstep {

int64_t peak_memory_bytes();  // of this process, so far

}  // namespace lockstep
