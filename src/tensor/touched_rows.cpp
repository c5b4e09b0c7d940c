#include "tensor/touched_rows.h"

#include <algorithm>
#include <cstring>

namespace lockstep {

void TouchedRows::add_all() {
  for (int64_t row = 0; row < rows(); ++row) add(static_cast<int32_t>(row));
}

void TouchedRows::clear() {
  for (const int32_t row : list_) marked_[static_cast<size_t>(row)] = 0;
  list_.clear();
}

// Scanning the marks beats sorting, unless nearly all rows are untouched.
std::vector<TouchedRows::Run> TouchedRows::runs() const {
  std::vector<Run> all;
  const auto take = [&](int64_t row) {
    if (all.empty() || all.back().end != row) all.push_back({row, row});
    all.back().end = row + 1;
  };
  if (marked_.size() / 256 < list_.size()) {
    const uint8_t *begin = marked_.data(), *end = begin + marked_.size();
    for (const uint8_t* at = begin; at < end; ++at) {
      at = static_cast<const uint8_t*>(std::memchr(at, 1, static_cast<size_t>(end - at)));
      if (!at) break;
      take(at - begin);
    }
    return all;
  }
  std::vector<int32_t> sorted(list_);
  std::sort(sorted.begin(), sorted.end());
  for (const int32_t row : sorted) take(row);
  return all;
}

}  // namespace lockstep
