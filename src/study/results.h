#pragma once

#include <map>
#include <optional>

#include "os/files.h"
#include "report/run_record.h"
#include "study/study.h"

namespace lockstep {

// The middle of several measurements and how far they spread.
struct Spread {
  double median = 0, low = 0, high = 0;
  int64_t count = 0;
};
// iqr: the quartiles; bootstrap: the 95% interval of the median, from 2,000 resamples.
Spread spread_of(std::vector<double> values, Interval kind);

struct PointResult {
  StudyPoint point;
  std::map<std::string, Spread> values = {};  // by column
  std::vector<std::string> failures = {};     // why runs did not end well
  std::vector<RunRecord> runs = {};
  std::string base = {};  // label of the point that speed-up and the like compare with

  RunKind kind() const;  // of its runs, the one that is worth least
};

struct StudyResults {
  Study study;
  std::vector<std::string> data;  // what was trained on, as the runs have it
  std::vector<PointResult> points;
  std::string slowest = {};  // label of the point that gain compares with

  const PointResult* base_of(const PointResult& point) const;
};

fs::path run_folder(const fs::path& folder, const StudyPoint& point, int64_t repeat);

// What of the point grows; nothing where the study's scale is not a number above 0.
std::optional<double> scale_of(const Study& study, const StudyPoint& point);

// Reads what the runs of a study left behind, and derives what the study asks for.
StudyResults collect_results(const Study& study, const fs::path& folder);

}  // namespace lockstep
