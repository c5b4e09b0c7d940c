#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace lockstep {

// The extents of one sample or one parameter, outermost first: height, width, channels for images;
// positions, channels for sequences.
class Shape {
 public:
  static constexpr int max_rank = 5;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return extents_[static_cast<size_t>(axis)]; }
  int64_t elements() const;
  bool is_image() const { return rank_ == 3; }
  bool is_sequence() const { return rank_ == 2; }
  int64_t positions() const { return elements() / channels(); }
  int64_t height() const { return extents_[0]; }
  int64_t width() const { return extents_[1]; }
  int64_t channels() const { return extents_[static_cast<size_t>(rank_ - 1)]; }

  bool operator==(const Shape& other) const;
  std::string text() const;  // "28x28x1"

 private:
  std::array<int64_t, max_rank> extents_{};
  int rank_ = 0;
};

}  // namespace lockstep
