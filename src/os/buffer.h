#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace lockstep {

struct FreeMemory {
  size_t mapped = 0;  // bytes; 0: not mapped but allocated
  void operator()(std::byte* memory) const;
};

// Zeroed memory that starts on a cache line. Large buffers are mapped: the kernel provides their
// pages when they are first touched, as huge pages if possible.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t bytes);

  size_t bytes() const { return bytes_; }
  std::byte* data() const { return memory_.get(); }
  std::span<float> floats() const {
    return {reinterpret_cast<float*>(memory_.get()), bytes_ / sizeof(float)};
  }

 private:
  std::unique_ptr<std::byte, FreeMemory> memory_;
  size_t bytes_ = 0;
};

constexpr size_t cache_line = 64;
constexpr size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
// Bytes of an array of floats, rounded up to whole cache lines.
constexpr size_t padded_bytes(int64_t floats) {
  return round_up(static_cast<size_t>(floats) * sizeof(float), cache_line);
}

// From now on buffers of this process may exceed its memory: simulated ranks hardly touch theirs.
void expect_untouched_buffers();

}  // namespace lockstep
