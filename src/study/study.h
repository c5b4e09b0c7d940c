#pragma once

#include <map>
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

// The key of a point that names its preset or file; not a setting of the configuration.
inline constexpr std::string_view config_key = "config";

// One point of a grid: what it changes in the configuration, as key=value.
struct StudyPoint {
  std::string label;   // "ranks=4, strategy=all-reduce"; also the name of its folder
  std::string config;  // a preset or file
  std::vector<std::pair<std::string, std::string>> keys;  // of [grid] or [[points]]
  // Settings in which its runs differ from the published ones; empty: comparable.
  std::vector<std::string> differs;

  std::string value(const std::string& key) const;  // "": the point does not set it
};

// Published values of a point.
struct PublishedPoint {
  std::string label;
  std::map<std::string, double> values;
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
  // Points whose scale exceeds `simulate_beyond` are simulated on this cluster, if one is named.
  // simulate_numbers: the simulation also computes the numerics.
  std::string simulate_on;
  int64_t simulate_beyond = 0;
  bool simulate_numbers = false;
  std::vector<std::string> columns;
  std::vector<PublishedPoint> published;
};

// Whether the point is simulated rather than measured.
bool is_simulated(const Study& study, const StudyPoint& point);

// `source` is for messages. With `quick`, keys of [quick] replace the others.
Study parse_study(const std::string& text, const std::string& source, bool quick);

// Adds key=value changes for all points, after the study's own. Keys of a point take precedence.
void change_points(Study& study, const std::vector<std::string>& changes);

}  // namespace lockstep
