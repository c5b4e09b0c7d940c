#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/run_config.h"

namespace lockstep {

// Which verb runs a point.
enum class StudyVerb { train, crossval };
template <>
inline constexpr auto enum_texts<StudyVerb> = std::array{"train", "crossval"};

// What is shown beside a median: the interquartile range, or the 95% interval of the median.
enum class Interval { iqr, bootstrap };
template <>
inline constexpr auto enum_texts<Interval> = std::array{"iqr", "bootstrap"};

// Whether the work stays the same as n grows, or grows with it.
enum class Scaling { strong, weak };
template <>
inline constexpr auto enum_texts<Scaling> = std::array{"strong", "weak"};

// The key of a point that names its preset or file, not a setting of the configuration.
inline constexpr std::string_view config_key = "config";

// One point of a grid: what it changes in the configuration, as key=value.
struct StudyPoint {
  std::string label;   // "ranks=4, strategy=all-reduce"; also the name of its folder
  std::string config;  // a preset or file
  std::vector<std::pair<std::string, std::string>> keys;  // of the grid, or of its [[points]]
  // Keys in which its runs differ from those that published figures are of; none: comparable.
  std::vector<std::string> differs;

  std::string value(const std::string& key) const;  // "" where the point does not set it
};

// Figures that others have published for a point.
struct PublishedPoint {
  std::string label;
  std::map<std::string, double> values;
};

// An experiment: a grid over configuration keys, how often each point is run, what is reported.
struct Study {
  std::string name, title, notes;
  StudyVerb verb = StudyVerb::train;
  std::string config;
  std::vector<std::string> changes;  // key=value, of every point
  std::vector<StudyPoint> points;
  int64_t repeats = 1, warmup = 0;  // warm-up runs are not counted
  Interval spread = Interval::iqr;
  std::string scale = "parallel.ranks";  // what grows: n of speed-up and efficiency
  std::string time = "total_seconds";    // what speed-up is about
  Scaling more_is = Scaling::strong;
  // Points with more than `simulate_beyond` of what grows are simulated on this cluster, where one
  // is named; with real numbers where `simulate_numbers`.
  std::string simulate_on;
  int64_t simulate_beyond = 0;
  bool simulate_numbers = false;
  std::vector<std::string> columns;
  std::vector<PublishedPoint> published;
};

// Whether the point is simulated, rather than run.
bool is_simulated(const Study& study, const StudyPoint& point);

// `source` is for messages. With `quick`, what [quick] says replaces the rest.
Study parse_study(const std::string& text, const std::string& source, bool quick);

// Changes keys of every point: key=value, after what the study says itself.
void change_points(Study& study, const std::vector<std::string>& changes);

}  // namespace lockstep
