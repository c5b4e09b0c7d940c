#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace lockstep {

// Zeroed memory that starts on a cache line (large ones on a huge page, where the system gives
// one).
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
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

constexpr size_t cache_line = 64;
constexpr size_t round_up(size_t value, size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace lockstep
