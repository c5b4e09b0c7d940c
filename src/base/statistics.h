#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lockstep {

// The middle value; for an even count, the mean of the two middle values. 0 for an empty list.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace lockstep
