#pragma once

#include <optional>

#include "base/files.h"
#include "study/study.h"

namespace lockstep {

// The middle of several measurements and how far they spread.
struct Spread {
  double median = 0, low = 0, high = 0;
  int64_t count = 0;
};
// iqr: the quartiles; bootstrap: the 95% interval of the median, from 2,000 resamples.
Spread spread_of(std::vector<double> values, const std::string& kind);

enum class Mark { measured, oversubscribed, simulated };
const char* mark_name(Mark mark);

struct PointResult {
  StudyPoint point;
  Mark mark = Mark::measured;
  std::map<std::string, Spread> values;  // by column
  std::vector<std::string> failures;     // why runs did not end well
  std::vector<fs::path> runs;
};

struct StudyResults {
  Study study;
  std::vector<std::string> data;  // what was trained on, as the runs have it
  std::vector<PointResult> points;
};

fs::path run_folder(const fs::path& folder, const StudyPoint& point, int64_t repeat);

// Reads what the runs of a study left behind, and derives what the study asks for.
StudyResults collect_results(const Study& study, const fs::path& folder);

// The figure of a summary.json: a number inside, or the median of a list of numbers.
std::optional<double> figure_of(const std::string& summary, const std::string& column);

}  // namespace lockstep
