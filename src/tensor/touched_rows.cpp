#include "tensor/touched_rows.h"

#include <algorithm>

namespace lockstep {

void TouchedRows::add_all() {
  for (int64_t row = 0; row < rows(); ++row) add(static_cast<int32_t>(row));
}

void TouchedRows::clear(float* gradients) {
  for (const int32_t row : list_) {
    std::fill_n(gradients + row * width_, width_, 0.0f);
    marked_[static_cast<size_t>(row)] = 0;
  }
  list_.clear();
}

std::vector<TouchedRows::Run> TouchedRows::runs() const {
  std::vector<int32_t> sorted(list_);
  std::sort(sorted.begin(), sorted.end());
  std::vector<Run> all;
  for (const int32_t row : sorted) {
    if (all.empty() || all.back().end != row) all.push_back({row, row});
    all.back().end = row + 1;
  }
  return all;
}

}  // namespace lockstep
