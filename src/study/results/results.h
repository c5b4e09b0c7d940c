#pragma once

#include <map>
#include <optional>

#include "os/files.h"
#include "report/run_record.h"
#include "study/study.h"

namespace lockstep {

// Median of several measurements and an interval around it.
struct Spread {
  double median = 0, low = 0, high = 0;
  int64_t count = 0;
};
// iqr: the quartiles; bootstrap: the 95% interval of the median, from 2,000 resamples.
Spread spread_of(std::vector<double> values, Interval kind);

struct PointResult {
  StudyPoint point;
  std::map<std::string, Spread> values = {};  // by column
  std::vector<std::string> failures = {};     // reasons of failed runs
  std::vector<RunRecord> runs = {};
  std::string base = {};  // label of the baseline of speed-up, efficiency, improvement, Karp-Flatt

  RunKind kind() const;  // the least reliable kind of its runs
};

struct StudyResults {
  Study study;
  std::vector<std::string> data;  // data sets, as named by the runs
  std::vector<PointResult> points;
  std::string slowest = {};  // label of the baseline of gain

  const PointResult* base_of(const PointResult& point) const;
};

fs::path run_folder(const fs::path& folder, const StudyPoint& point, int64_t repeat);

// The point's value of the study's scale; none if it is not a number above 0.
std::optional<double> scale_of(const Study& study, const StudyPoint& point);

// Reads the results of a study's runs and computes the derived columns.
StudyResults collect_results(const Study& study, const fs::path& folder);

}  // namespace lockstep
