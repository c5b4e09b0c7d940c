#include "study/results/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.h"
#include "report/numbers.h"

namespace lockstep {
namespace {

std::string short_name(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// "1 rank", "2 nodes", "threads=1"
std::string amount(const std::string& scale, double n) {
  static const std::map<std::string, const char*> nouns = {{"parallel.ranks", "rank"},
                                                           {"crossval.nodes", "node"}};
  const bool whole = n == static_cast<double>(static_cast<int64_t>(n));
  if (const auto noun = nouns.find(scale); whole && noun != nouns.end())
    return plural(static_cast<int64_t>(n), noun->second);
  return short_name(scale) + "=" + count_text(n);
}

// The shortest name that is true of the baselines of all points.
std::string base_name(const StudyResults& r) {
  std::set<double> sizes;
  std::set<std::string> labels;
  std::set<RunKind> kinds, all_kinds;
  for (const PointResult& p : r.points)
    if (const PointResult* base = r.base_of(p)) {
      all_kinds.insert(p.kind());
      sizes.insert(scale_of(r.study, base->point).value_or(0));
      labels.insert(base->point.label);
      kinds.insert(base->kind());
    }
  if (labels.empty()) return "the base";
  const bool one_size = sizes.size() == 1 && *sizes.begin() > 0;
  const std::string name = one_size             ? amount(r.study.scale, *sizes.begin())
                           : labels.size() == 1 ? "'" + *labels.begin() + "'"
                                                : "the base";
  // The kind is omitted if all points are measured.
  if (kinds.size() > 1 || (all_kinds.size() == 1 && all_kinds.contains(RunKind::measured)))
    return name;
  return fmt::format("{} ({})", name, kind_name(*kinds.begin()));
}

// Smallest and largest value along a curve.
struct Range {
  double low = 0, high = 0;
  bool known = true;
  bool fixed() const { return known && low == high; }
  std::string text() const { return count_text(low) + " to " + count_text(high); }
};

// The widest range of all curves; not known if a run lacks the value.
Range range_along_curves(const StudyResults& r, std::optional<double> RunRecord::*figure) {
  std::map<std::string, Range> curves;
  for (const PointResult& p : r.points)
    for (const RunRecord& run : p.runs) {
      const std::string curve = curve_of(r, p.point, r.study.scale);
      const auto value = run.*figure;
      if (!value) return {.known = false};
      const auto [at, is_new] = curves.try_emplace(curve, Range{*value, *value});
      at->second.low = std::min(at->second.low, *value);
      at->second.high = std::max(at->second.high, *value);
    }
  Range widest;
  for (const auto& [curve, range] : curves)
    if (range.high - range.low >= widest.high - widest.low) widest = range;
  return widest;
}

bool all_full_batches(const StudyResults& r) {
  return std::all_of(r.points.begin(), r.points.end(), [](const PointResult& p) {
    return std::all_of(p.runs.begin(), p.runs.end(),
                       [](const RunRecord& run) { return run.full_batch; });
  });
}

}  // namespace

std::string title_of(const ColumnKind& column, const StudyResults& r) {
  switch (column.relative) {
    case RelativeTo::nothing:
      return column.title;
    case RelativeTo::slowest:
      return column.title + " against the slowest";
    case RelativeTo::base_over:
      return column.title + " over " + base_name(r);
    case RelativeTo::base:
      return column.title + " against " + base_name(r);
  }
  return column.title;
}

bool has_scale(const StudyResults& r) {
  std::set<double> sizes;
  for (const PointResult& p : r.points) {
    const auto size = scale_of(r.study, p.point);
    if (!size) return false;
    sizes.insert(*size);
  }
  return sizes.size() > 1;
}

std::string curve_of(const StudyResults& r, const StudyPoint& point, const std::string& x,
                     const Selection& where) {
  if (const std::string series = point.value(std::string(series_key)); !series.empty())
    return series;
  // Settings that all selected points share do not separate curves; nor do settings that are
  // different for every point.
  const auto selected = [&](const PointResult& p) { return is_selected(p.point, where); };
  std::map<std::string, std::set<std::string>> values;
  for (const PointResult& p : r.points)
    if (selected(p))
      for (const auto& [key, value] : p.point.keys) values[key].insert(value);
  const auto rest = [&](const StudyPoint& p) {
    std::string text;
    for (const auto& [key, value] : p.keys)
      if (key != x && values[key].size() > 1)
        text += (text.empty() ? "" : ", ") + short_name(key) + "=" + value;
    return text;
  };
  std::set<std::string> rests;
  for (const PointResult& p : r.points)
    if (selected(p)) rests.insert(rest(p.point));
  const auto count = std::count_if(r.points.begin(), r.points.end(), selected);
  return rests.size() == static_cast<size_t>(count) ? "" : rest(point);
}

ScalingTitle scaling_title(const StudyResults& r) {
  if (r.study.more_is == Scaling::weak) {
    const Range range = range_along_curves(r, &RunRecord::batch_per_rank);
    if (range.fixed()) return {"Weak scaling", ""};
    if (range.known)
      return {"Scaling", "not weak scaling: the batch per rank goes from " + range.text()};
  } else {
    const Range range = range_along_curves(r, &RunRecord::global_batch);
    if (range.fixed() || all_full_batches(r)) return {"Strong scaling", ""};
    if (range.known)
      return {"Scaling", "not strong scaling: the global batch goes from " + range.text()};
  }
  return {"Scaling", "the batches of some runs are not known"};
}

const PublishedPoint* published_of(const StudyResults& r, const StudyPoint& point) {
  if (!point.differs.empty()) return nullptr;
  for (const PublishedPoint& p : r.study.published)
    if (p.label == point.label) return &p;
  return nullptr;
}

std::string note_on_published(const StudyResults& r) {
  std::vector<std::string> differs;
  for (const PointResult& p : r.points) {
    const bool published =
        std::any_of(r.study.published.begin(), r.study.published.end(),
                    [&](const PublishedPoint& other) { return other.label == p.point.label; });
    for (const std::string& key : p.point.differs)
      if (published && std::find(differs.begin(), differs.end(), key) == differs.end())
        differs.push_back(key);
  }
  if (differs.empty()) return "";
  return "Published figures are left out where these runs cannot be compared with them: " +
         join(differs, ", ") + ".";
}

}  // namespace lockstep
