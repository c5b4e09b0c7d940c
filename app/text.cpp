#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"

namespace lockstep {

std::string short_time(double seconds) {
  if (seconds < 10) return fmt::format("{:.3g} s", seconds);
  const int64_t whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string percent(double share) { return fmt::format("{:.2f}%", share * 100); }

std::string short_count(double number) {
  if (number >= 1e9) return fmt::format("{:.2f} G", number / 1e9);
  if (number >= 1e6) return fmt::format("{:.2f} M", number / 1e6);
  if (number >= 1e3) return fmt::format("{:.2f} k", number / 1e3);
  return fmt::format("{:.0f}", number);
}

Shape parse_shape(const std::string& text) {
  constexpr int64_t most = 100'000;
  int64_t h = 0, w = 0, c = 0;
  char rest = 0;
  const auto fits = [](int64_t extent) { return extent > 0 && extent <= most; };
  if (std::sscanf(text.c_str(), "%ldx%ldx%ld%c", &h, &w, &c, &rest) == 3 && fits(h) && fits(w) &&
      fits(c))
    return {h, w, c};
  if (std::sscanf(text.c_str(), "%ld%c", &h, &rest) == 1 && fits(h)) return {h};
  throw UserError("--input {}: expected a shape such as 28x28x1 or 784", text);
}

namespace {

// UTF-8: every byte except continuation bytes starts a character.
size_t characters(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) {
      if (c == widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], characters(row[c]));
    }
  std::string text;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const std::string& cell = rows[r][c];
      const std::string& sample = rows[rows.size() > 1 ? 1 : 0][c];
      const bool number = !sample.empty() && (std::isdigit(static_cast<unsigned char>(sample[0])));
      line += c == 0 ? "" : "  ";
      const std::string filling(widths[c] - characters(cell), ' ');
      line += number ? filling + cell : cell + filling;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (r == 0) {
      size_t total = 0;
      for (const size_t width : widths) total += width + 2;
      text += std::string(total - 2, '-') + "\n";
    }
  }
  return text;
}

}  // namespace lockstep
