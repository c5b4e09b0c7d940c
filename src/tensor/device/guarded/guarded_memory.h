#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>

#include "os/buffer.h"

namespace lockstep {

// Maps reserved addresses, which fault on access, to the buffers that hold their data.
class GuardedMemory {
 public:
  std::byte* reserve(size_t bytes);
  void release(std::byte* address);

  // Translates a reserved address to the buffer's; null stays null.
  template <typename T>
  T* inside(T* address, const char* operand) const {
    return reinterpret_cast<T*>(find(reinterpret_cast<const std::byte*>(address), operand));
  }
  template <typename T>
  std::span<T> inside(std::span<T> values, const char* operand) const {
    return {values.empty() ? nullptr : inside(values.data(), operand), values.size()};
  }
  void expect_host(const void* address, const char* operand) const;

 private:
  struct Range {
    size_t bytes;  // reserved, in whole pages
    Buffer buffer;
  };
  std::byte* find(const std::byte* address, const char* operand) const;
  bool holds(const std::byte* address) const;

  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> ranges_;  // by reserved address
};

}  // namespace lockstep
