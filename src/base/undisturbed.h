#pragma once

#include <algorithm>
#include <vector>

namespace lockstep {

// What something takes on a machine that others use too: neighbours make some times longer and none
// shorter. The quickest fortieth; of many, the very quickest may be luck.
inline double undisturbed(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  const auto at = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 40);
  std::nth_element(seconds.begin(), at, seconds.end());
  return *at;
}

}  // namespace lockstep
