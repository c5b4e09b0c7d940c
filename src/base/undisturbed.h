#pragma once

#include <algorithm>
#include <vector>

namespace lockstep {

// A duration as on a machine that nothing else uses: other programs make some samples longer and
// none shorter. The fastest fortieth, because the very fastest of many samples may be an outlier.
inline double undisturbed(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 40);
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at;
}

}  // namespace lockstep
