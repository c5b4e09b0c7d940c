#pragma once

#include <memory>

#include "comm/communicator.h"
#include "comm/task.h"

namespace lockstep {

// Messages are sent in segments that fit the second-level cache: while one is added, the next is in
// flight.
constexpr size_t swap_segment = 512 * 1024;  // bytes

// Two ranks on different nodes that exchange data keep in step: each sends two short segments, and
// the others when the first segment of its peer has arrived. Otherwise data of a rank that is ahead
// would delay the exchange that its peer is still in, on the same link, and after that the two
// directions of their own exchange would no longer overlap.
constexpr size_t leading_segment = 16 * 1024, leading_segments = 2;  // bytes, count

// Sends `out` to one rank while `in` arrives from another, or from the same one. Both may be empty.
Task swap(Channel& ranks, std::span<const float> out, int to, std::span<float> in, int from,
          int tag);

// Memory for a segment that arrives to be added. Allocated once per operation: fresh memory costs
// page faults.
class SegmentBuffer {
 public:
  explicit SegmentBuffer(size_t floats)
      : memory_(std::make_unique_for_overwrite<float[]>(
            std::min(floats, swap_segment / sizeof(float)))) {}
  std::span<float> first(size_t floats) const { return {memory_.get(), floats}; }

 private:
  std::unique_ptr<float[]> memory_;
};

// Adds what arrives to `sum`.
Task swap_and_add(Channel& ranks, std::span<const float> out, int to, std::span<float> sum,
                  int from, const SegmentBuffer& buffer, int tag);

}  // namespace lockstep
