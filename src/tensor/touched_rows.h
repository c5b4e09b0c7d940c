#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// The rows of a weight matrix that sparse inputs touched: only their gradients may be nonzero.
// Operations take time proportional to these rows, not to the matrix.
class TouchedRows {
 public:
  TouchedRows(int64_t rows, int64_t width) : width_(width), marked_(static_cast<size_t>(rows)) {}

  int64_t rows() const { return static_cast<int64_t>(marked_.size()); }
  int64_t width() const { return width_; }
  std::span<const int32_t> list() const { return list_; }  // in the order they were touched

  void add(int32_t row) {
    if (marked_[static_cast<size_t>(row)]) return;
    marked_[static_cast<size_t>(row)] = 1;
    list_.push_back(row);
  }
  void add(std::span<const int32_t> rows) {
    for (const int32_t row : rows) add(row);
  }
  void add_all();
  void clear();

  // Runs of neighbouring rows, from first to last.
  struct Run {
    int64_t begin, end;
  };
  std::vector<Run> runs() const;

 private:
  int64_t width_;
  std::vector<uint8_t> marked_;
  std::vector<int32_t> list_;
};

}  // namespace lockstep
