#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// 60000 as "60,000".
inline std::string with_commas(int64_t count) {
  std::string text = std::to_string(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

}  // namespace lockstep
