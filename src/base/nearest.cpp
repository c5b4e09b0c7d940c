#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lockstep {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 100) return "";
  const std::string* best = nullptr;
  size_t best_distance = word.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    // "lr" for "optimizer.lr": the last part of a key alone counts as one edit.
    const size_t dot = candidate.rfind('.');
    size_t distance = edit_distance(word, candidate);
    if (dot != std::string::npos && word == std::string_view(candidate).substr(dot + 1))
      distance = 1;
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best ? *best : "";
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string close = nearest(word, candidates);
  if (!close.empty()) return fmt::format("did you mean '{}'?", close);
  return "expected one of " + join(candidates, ", ");
}

std::string join(const std::vector<std::string>& words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace lockstep
