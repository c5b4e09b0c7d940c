#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace lockstep {

// The command that runs a point.
enum class StudyVerb { train, crossval };
template <>
inline constexpr auto enum_texts<StudyVerb> = std::array{"train", "crossval"};

// The interval shown with a median: interquartile range, or 95% bootstrap interval of the median.
enum class Interval { iqr, bootstrap };
template <>
inline constexpr auto enum_texts<Interval> = std::array{"iqr", "bootstrap"};

// As n grows, the total work stays the same (strong) or grows with n (weak).
enum class Scaling { strong, weak };
template <>
inline constexpr auto enum_texts<Scaling> = std::array{"strong", "weak"};

// Which points are simulated, if the study names a cluster: those whose scale exceeds
// `simulate_beyond`, or those that this machine cannot run with a core per thread.
enum class Simulated { beyond, missing };
template <>
inline constexpr auto enum_texts<Simulated> = std::array{"beyond", "missing"};

// Keys of a point that are not settings of the configuration: its preset or file, the number of
// nodes that its ranks are on, and the name of its curve in figures.
inline constexpr std::string_view config_key = "config", nodes_key = "nodes", series_key = "series";

// One point of a grid: what it changes in the configuration, as key=value.
struct StudyPoint {
  std::string label;   // "ranks=4, strategy=all-reduce"; also the name of its folder
  std::string config;  // a preset or file
  std::vector<std::pair<std::string, std::string>> keys;  // of [grid] or [[points]]
  // Settings in which its runs differ from the published ones; empty: comparable.
  std::vector<std::string> differs;
  std::string where = {};  // in the study's file

  std::string value(const std::string& key) const;  // "": the point does not set it
  int64_t nodes() const;                            // 1 if the point does not set them
};

// A value as a document prints it: "34.40"; "98.80%", which is the number 0.988; "9.28 (remark)".
struct PublishedValue {
  double number = 0;
  std::string text;
};

// Published values of a point; or of something that is not run here, which has no point.
struct PublishedPoint {
  std::string label;
  bool reference = false;
  std::map<std::string, PublishedValue> values;  // by column
};

// Points whose key has one of these values.
using Selection = std::map<std::string, std::vector<std::string>>;

// The ideal that a figure shows. flat: the value at the smallest x.
enum class Ideal { none, flat };
template <>
inline constexpr auto enum_texts<Ideal> = std::array{"none", "flat"};

// A figure of the study's file: columns over the values of a key, which every drawn point sets; a
// column as bars, one per point; or a curve of the runs.
struct FigureSpec {
  std::string name, title, x;  // x: a key; empty: bars
  std::vector<std::string> columns;
  Selection where;
  Ideal ideal = Ideal::none;
  // Instead of columns over x: a curve of the runs' metrics over steps, and published points of it.
  std::string curve;
  std::vector<std::pair<double, double>> published;
};

// A table of one column: a row per value of a key, a column per value of another.
struct GridSpec {
  std::string name, title, rows, columns, value;
  Selection where;
};

// What a document claims, as a bound on a value of a point, or on its ratio to that of another.
struct Claim {
  std::string text, published;  // the claim, and the document's figure
  std::string column, point, against;
  std::optional<double> at_least, at_most;
  std::string why;    // reason if ours differs
  bool ours = false;  // an expectation of this project, not a claim of the document
  std::string where;  // in the study's file
};

// An experiment: a grid over configuration keys, how often each point is run, what is reported.
struct Study {
  std::string name, title, notes;
  StudyVerb verb = StudyVerb::train;
  std::string config;
  std::vector<std::string> changes;  // key=value, for all points
  std::vector<StudyPoint> points;
  int64_t repeats = 1, warmup = 0;  // warm-up runs are not counted
  Interval spread = Interval::iqr;
  std::string scale = "parallel.ranks";  // the key that varies: n of speed-up and efficiency
  std::string time = "total_seconds";    // the column that speed-up is computed from
  Scaling more_is = Scaling::strong;
  // simulate_on: cluster of simulated points, and of points on several nodes. simulate_numbers: the
  // simulation also computes the numerics.
  std::string simulate_on;
  Simulated simulate = Simulated::beyond;
  int64_t simulate_beyond = 0;
  bool simulate_numbers = false;
  std::vector<std::string> columns;
  std::vector<PublishedPoint> published;
  std::vector<FigureSpec> figures;
  std::vector<GridSpec> grids;
  std::vector<Claim> claims;
};

// Whether the point has one of the values of each key.
bool is_selected(const StudyPoint& point, const Selection& where);

// `source` is for messages. With `quick`, keys of [quick] replace the others.
Study parse_study(const std::string& text, const std::string& source, bool quick);

// Adds key=value changes for all points, after the study's own. Keys of a point take precedence.
void change_points(Study& study, const std::vector<std::string>& changes);

}  // namespace lockstep
