#include "report/numbers.h"

#include <fmt/format.h>

#include <cmath>

namespace lockstep {

std::string number_text(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value)) return "";
  if (size == 0) return "0";
  if (size >= 1e15) return fmt::format("{:.3e}", value);
  // From 999.95 on, four digits would round to 1000.
  return size >= 999.95 ? fmt::format("{:.0f}", value) : fmt::format("{:#.4g}", value);
}

std::string percent_text(double share) {
  return std::isfinite(share) ? fmt::format("{:.2f}%", share * 100) : "";
}

std::string count_text(double value) {
  if (!std::isfinite(value)) return "";
  if (value == std::round(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

std::string plural(int64_t count, const std::string& word) {
  if (count == 1) return "1 " + word;
  const bool ending_y = word.ends_with('y');
  return fmt::format("{} {}{}", count, ending_y ? word.substr(0, word.size() - 1) : word,
                     ending_y ? "ies" : "s");
}

}  // namespace lockstep
