#pragma once

#include <cmath>
#include <vector>

#include "base/statistics.h"

namespace lockstep {

// Error of a prediction. If the measurement was disturbed, it says nothing about the prediction.
struct CaseError {
  double error = 0;  // relative
  bool disturbed = false;
};

struct ErrorSummary {
  double median = 0, largest = 0;  // of absolute errors
  size_t counted = 0, left_out = 0;
};

inline ErrorSummary summarise_errors(const std::vector<CaseError>& cases) {
  std::vector<double> errors;
  for (const CaseError& one : cases)
    if (!one.disturbed) errors.push_back(std::abs(one.error));
  ErrorSummary summary{.counted = errors.size(), .left_out = cases.size() - errors.size()};
  if (errors.empty()) return summary;
  summary.median = median(errors);
  summary.largest = *std::max_element(errors.begin(), errors.end());
  return summary;
}

}  // namespace lockstep
