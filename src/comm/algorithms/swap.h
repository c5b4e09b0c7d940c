#pragma once

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Messages are sent in segments that fit the second-level cache: while one is added, the next is in
// flight.
constexpr size_t swap_segment = 512 * 1024;  // bytes

enum class Arriving { replaces, is_added };

// Sends `out` to one rank while `in` arrives from another, or from the same one. Both may be empty.
Task swap(Channel& ranks, std::span<const float> out, int to, std::span<float> in, int from,
          Arriving arriving, int tag);

}  // namespace lockstep
