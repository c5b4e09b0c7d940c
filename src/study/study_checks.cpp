#include "study/study_checks.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "base/nearest.h"
#include "cluster/named_cluster.h"
#include "config/presets.h"
#include "config/settings.h"
#include "study/results/columns.h"
#include "study/results/results.h"

namespace lockstep {
namespace {

// Columns that a table, figure or grid of the study shows.
std::set<std::string> shown_columns(const Study& study) {
  std::set<std::string> shown(study.columns.begin(), study.columns.end());
  for (const FigureSpec& figure : study.figures)
    shown.insert(figure.columns.begin(), figure.columns.end());
  if (study.figures.empty()) shown.insert({study.time, "speed_up"});  // figures that all have
  for (const GridSpec& grid : study.grids) shown.insert(grid.value);
  return shown;
}

void check_published(const Study& study, const Sections& all) {
  const std::set<std::string> shown = shown_columns(study);
  std::vector<std::string> labels;
  for (const StudyPoint& point : study.points) labels.push_back(point.label);
  std::set<std::string> published;
  for (const auto& [number, keys] : all.published) {
    std::string label, where = first_line(keys);
    bool reference = false, has_values = false;
    for (const auto& [key, value] : keys) {
      if (key == label_key) {
        label = text_of(value), where = value.where;
      } else if (key == reference_key) {
        reference = value_as<bool>(key, value);
      } else {
        has_values = true;
      }
    }
    if (!has_values)
      throw UserError("{}: [[published]] '{}' has no values; give some, such as total_seconds",
                      where, printable(label));
    if (!published.insert(label).second)
      throw UserError("{}: a second [[published]] is called '{}'; keep one", where,
                      printable(label));
    const bool is_point = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (reference && is_point)
      throw UserError(
          "{}: '{}' is a point of this study; leave reference = true out, or use another label",
          where, printable(label));
    if (!reference && !is_point)
      throw UserError(
          "{}: [[published]] has values of a point '{}', which the study does not "
          "have; its points are '{}' (reference = true: of something that is not run here)",
          where, printable(label), join(labels, "', '"));
    for (const auto& [key, value] : keys)
      if (key != label_key && key != reference_key && !shown.contains(key))
        throw UserError(
            "{}: the published {} would not be shown: no table, figure or grid has this column; "
            "add it to 'columns'",
            value.where, key);
  }
}

// Claims are about points of the full study.
void check_claims(const Study& study) {
  std::vector<std::string> labels;
  for (const StudyPoint& point : study.points) labels.push_back(point.label);
  for (const Claim& claim : study.claims)
    for (const std::string& label : {claim.point, claim.against})
      if (claim.point == claim.against)
        throw UserError("{}: a claim compares '{}' with itself; name another point", claim.where,
                        printable(claim.point));
      else if (!label.empty() && std::find(labels.begin(), labels.end(), label) == labels.end())
        throw UserError("{}: a claim is about a point '{}', which the study does not have; {}",
                        claim.where, printable(label), suggestion(label, labels));
}

// Every figure and grid of the full study has a point.
void check_drawn(const Study& study, const Sections& all) {
  const auto expect_points = [&](const auto& drawn, const std::map<int, Keys>& tables, auto keys) {
    auto table = tables.begin();
    std::set<std::string> names;
    for (const auto& one : drawn) {
      const std::string& line = first_line((table++)->second);
      if (!names.insert(one.name).second)
        throw UserError("{}: two figures or grids are called '{}'; give each its own name", line,
                        printable(one.name));
      const bool has_points =
          std::any_of(study.points.begin(), study.points.end(), [&](const StudyPoint& point) {
            return is_selected(point, one.where) && keys(one, point);
          });
      if (!has_points)
        throw UserError(
            "{}: '{}' has no points: none sets the keys that it names to the values under where",
            line, printable(one.name));
    }
  };
  expect_points(study.figures, all.figures, [](const FigureSpec& f, const StudyPoint& point) {
    return f.x.empty() || !point.value(f.x).empty();
  });
  expect_points(study.grids, all.grids, [](const GridSpec& g, const StudyPoint& point) {
    return !point.value(g.rows).empty() && !point.value(g.columns).empty();
  });
}

// Points on several nodes, or simulated ones, need a cluster.
void check_placement(const Study& study, const Sections& all) {
  if (!study.simulate_on.empty()) return;
  for (const char* key : {"simulate", "simulate_beyond", "simulate_numbers"})
    if (const auto found = all.plain.find(key); found != all.plain.end())
      throw UserError("{}: {} has no effect without simulate_on, the cluster to simulate on",
                      found->second.where, key);
  for (const StudyPoint& point : study.points)
    if (point.nodes() > 1)
      throw UserError(
          "{}: '{}' is on {} nodes; name the cluster whose nodes and network they have: simulate_on",
          point.where, point.label, point.nodes());
}

// Number of settings that two points share, apart from the scale.
int64_t shared_settings(const Study& study, const StudyPoint& a, const StudyPoint& b) {
  return std::count_if(a.keys.begin(), a.keys.end(), [&](const auto& key) {
    return key.first != study.scale && b.value(key.first) == key.second;
  });
}

// Ratios to a baseline are ambiguous if a point has two that fit equally well.
void check_baselines(const Study& study) {
  const bool compares =
      std::any_of(study.columns.begin(), study.columns.end(), [](const std::string& column) {
        const RelativeTo to = column_named(column).relative;
        return to == RelativeTo::base || to == RelativeTo::base_over;
      });
  if (!compares) return;
  double least = 1e300;
  for (const StudyPoint& point : study.points)
    least = std::min(least, scale_of(study, point).value_or(1));
  for (const StudyPoint& point : study.points) {
    if (scale_of(study, point).value_or(1) == least) continue;
    int64_t most = -1;
    std::vector<const StudyPoint*> best;
    for (const StudyPoint& other : study.points) {
      if (scale_of(study, other).value_or(1) != least) continue;
      const int64_t shared = shared_settings(study, point, other);
      if (shared > most) best.clear(), most = shared;
      if (shared == most) best.push_back(&other);
    }
    if (best.size() > 1)
      throw UserError(
          "{}: '{}' and '{}' contradict each other as the baseline of '{}': both have {} = {} and as "
          "much in common with it; let it share more settings with one of them, or choose columns "
          "without a baseline",
          best[1]->where, best[0]->label, best[1]->label, point.label, study.scale,
          best[1]->value(study.scale).empty() ? "1" : best[1]->value(study.scale));
  }
}

// Two points with the same settings would be the same runs.
void check_same_points(const Study& study) {
  std::map<std::pair<std::string, std::map<std::string, std::string>>, const StudyPoint*> seen;
  for (const StudyPoint& point : study.points) {
    std::map<std::string, std::string> keys(point.keys.begin(), point.keys.end());
    keys.erase(std::string(series_key));
    const auto [at, is_new] = seen.try_emplace({point.config, keys}, &point);
    if (!is_new)
      throw UserError(
          "{}: '{}' has the same settings as '{}'; keep one (repeats = N runs a point "
          "several times)",
          point.where, point.label, at->second->label);
  }
}

}  // namespace

void check_scale(const std::string& key, const std::string& where) {
  std::vector<std::string> keys = {std::string(label_key), std::string(nodes_key),
                                   std::string(config_key)};
  for (const Setting& setting : settings()) keys.push_back(setting.key);
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    throw UserError("{}: scale = \"{}\" is no setting; {}", where, printable(key),
                    suggestion(key, keys));
}

void check_config(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  if (std::find(names.begin(), names.end(), name) == names.end() && !fs::exists(name))
    throw UserError("{}: config = \"{}\" is neither a preset nor a file; {}", where,
                    printable(name), suggestion(name, names));
}

void check_columns(const std::vector<std::string>& columns, const std::string& where) {
  std::set<std::string> seen;
  for (const std::string& column : columns) {
    check_column(column, where);
    if (!seen.insert(column).second)
      throw UserError("{}: column '{}' is given twice; give it once", where, column);
  }
}

void check_runs(const Study& study) {
  check_same_points(study);
  check_baselines(study);
}

void check_cluster(const std::string& name, const std::string& where) {
  try {
    named_cluster(name);
  } catch (const UserError& error) {
    throw UserError("{}: simulate_on: {}", where, error.what());
  }
}

void check_points(const Study& study, const Sections& all, const std::string& source) {
  if (study.config.empty() && std::any_of(study.points.begin(), study.points.end(),
                                          [](const StudyPoint& p) { return p.config.empty(); }))
    throw UserError("{}: config is missing: the preset or file that the study is about", source);
  if (study.points.empty())
    throw UserError("{}: there is nothing to run: give [grid] with lists of values, or [[points]]",
                    source);
  for (const auto& [key, value] : all.set)
    for (const auto& [other, list] : all.grid)
      if (key == other)
        throw UserError("{}: {} is in [set] and in [grid], at {}; keep one", value.where, key,
                        list.where);
  std::vector<std::string> labels;
  for (const StudyPoint& point : study.points) labels.push_back(point.label);
  std::vector<std::string> sorted = labels;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return;
  const auto last = std::find_if(study.points.rbegin(), study.points.rend(),
                                 [&](const StudyPoint& point) { return point.label == *twice; });
  throw UserError("{}: two points are called '{}'; give each its own label", last->where, *twice);
}

void check_full_study(const Study& study, const Sections& all) {
  check_runs(study);
  check_published(study, all);
  check_drawn(study, all);
  check_claims(study);
  check_placement(study, all);
}

}  // namespace lockstep
