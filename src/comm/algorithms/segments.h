#pragma once

#include <algorithm>
#include <span>

#include "base/part.h"

namespace lockstep {

// One of `parts` parts of an array.
template <typename T>
std::span<T> cut(std::span<T> data, int64_t parts, int64_t index) {
  const Part part = part_of(static_cast<int64_t>(data.size()), parts, index);
  return data.subspan(static_cast<size_t>(part.begin), static_cast<size_t>(part.size()));
}

// An array of floats cut into segments of equal size, except the last one.
template <typename T>
class Segments {
 public:
  Segments(std::span<T> data, size_t segment_bytes)
      : data_(data), floats_(segment_bytes / sizeof(T)) {}

  size_t count() const { return (data_.size() + floats_ - 1) / floats_; }
  size_t largest() const { return std::min(floats_, data_.size()); }  // floats
  std::span<T> at(size_t index) const {
    const size_t begin = index * floats_;
    return data_.subspan(begin, std::min(floats_, data_.size() - begin));
  }

 private:
  std::span<T> data_;
  size_t floats_;
};

}  // namespace lockstep
