#include "study/results/results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "base/statistics.h"
#include "study/results/columns.h"

namespace lockstep {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// The baseline of a point: among the points with the smallest scale, the one that shares most of
// its other settings.
const PointResult* baseline_of(const PointResult& result, const StudyResults& all) {
  const std::string& scale = all.study.scale;
  const auto size = [&](const PointResult& p) { return scale_of(all.study, p.point).value_or(1); };
  const auto shared = [&](const PointResult& p) {
    return std::count_if(result.point.keys.begin(), result.point.keys.end(), [&](const auto& key) {
      return key.first != scale && p.point.value(key.first) == key.second;
    });
  };
  const PointResult* best = nullptr;
  for (const PointResult& other : all.points) {
    if (!other.values.contains(all.study.time)) continue;
    if (!best || std::pair(size(other), -shared(other)) < std::pair(size(*best), -shared(*best)))
      best = &other;
  }
  return best;
}

void derive(StudyResults& all) {
  const std::string& time = all.study.time;
  const bool weak = all.study.more_is == Scaling::weak;
  double slowest = 0;
  for (const PointResult& r : all.points)
    if (const auto found = r.values.find(time);
        found != r.values.end() && found->second.median > slowest) {
      slowest = found->second.median;
      all.slowest = r.point.label;
    }
  for (PointResult& r : all.points) {
    const auto mine = r.values.find(time);
    const PointResult* base = baseline_of(r, all);
    if (mine == r.values.end() || !base) continue;
    const Spread t = mine->second;
    const double t1 = base->values.at(time).median;
    if (!(t.low > 0 && t1 > 0)) continue;  // ratios would be meaningless
    r.base = base->point.label;
    const double n =
        scale_of(all.study, r.point).value_or(1) / scale_of(all.study, base->point).value_or(1);
    // A longer time is a smaller speed-up, so low and high swap.
    const auto add = [&](const char* column, auto derive) {
      r.values[column] = {derive(t.median), std::min(derive(t.low), derive(t.high)),
                          std::max(derive(t.low), derive(t.high)), t.count};
    };
    const double work = weak ? n : 1;
    add("speed_up", [&](double x) { return work * t1 / x; });
    add("efficiency", [&](double x) { return work * t1 / x / n; });
    add("improvement", [&](double x) { return (t1 - x) / t1 * 100; });
    add("gain", [&](double x) { return slowest / x * 100; });
    if (n > 1) add("karp_flatt", [&](double x) { return (x / (work * t1) - 1 / n) / (1 - 1 / n); });
  }
}

}  // namespace

Spread spread_of(std::vector<double> values, Interval kind) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const Spread quartiles{median(values), quantile(values, 0.25), quantile(values, 0.75),
                         static_cast<int64_t>(values.size())};
  if (kind != Interval::bootstrap || values.size() < 2) return quartiles;
  Rng rng(1, Purpose::split, 80);
  std::vector<double> medians, sample(values.size());
  for (int i = 0; i < 2000; ++i) {
    for (double& value : sample) value = values[rng.below(values.size())];
    medians.push_back(median(sample));
  }
  std::sort(medians.begin(), medians.end());
  return {quartiles.median, quantile(medians, 0.025), quantile(medians, 0.975), quartiles.count};
}

RunKind PointResult::kind() const {
  RunKind worst = RunKind::measured;
  for (const RunRecord& run : runs) worst = std::max(worst, run.kind);
  return worst;
}

const PointResult* StudyResults::base_of(const PointResult& point) const {
  for (const PointResult& p : points)
    if (!point.base.empty() && p.point.label == point.base) return &p;
  return nullptr;
}

std::optional<double> scale_of(const Study& study, const StudyPoint& point) {
  const std::string text = point.value(study.scale);
  double value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end) return std::nullopt;
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

fs::path run_folder(const fs::path& folder, const StudyPoint& point, int64_t repeat) {
  return folder / "points" / point.label / fmt::format("run-{}", repeat);
}

StudyResults collect_results(const Study& study, const fs::path& folder) {
  StudyResults all{.study = study, .data = {}, .points = {}};
  std::set<std::string> columns(study.columns.begin(), study.columns.end()), data;
  columns.insert(study.time);
  for (const FigureSpec& figure : study.figures)
    columns.insert(figure.columns.begin(), figure.columns.end());
  for (const GridSpec& grid : study.grids) columns.insert(grid.value);
  for (const Claim& claim : study.claims) columns.insert(claim.column);
  for (const StudyPoint& point : study.points) {
    PointResult result{.point = point};
    std::map<std::string, std::vector<double>> values;
    for (int64_t repeat = 0; repeat < study.repeats; ++repeat) {
      const fs::path run = run_folder(folder, point, repeat);
      try {
        if (fs::is_regular_file(run / "failed.txt")) {
          result.failures.push_back(read_text(run / "failed.txt"));
          continue;
        }
        if (!fs::exists(run / "summary.json")) continue;
        result.runs.push_back(read_run_record(run));
      } catch (const std::exception& error) {  // the other runs are still reported
        result.failures.emplace_back(error.what());
        continue;
      }
      RunRecord& record = result.runs.back();
      record.name = point.label + " · " + run.filename().string();
      for (const std::string& column : columns)
        if (const auto number = figure_of(record.summary, column); number && std::isfinite(*number))
          values[column].push_back(*number);
      if (!record.data.empty()) data.insert(record.data);
    }
    for (auto& [column, numbers] : values)
      result.values[column] = spread_of(std::move(numbers), study.spread);
    all.points.push_back(std::move(result));
  }
  all.data.assign(data.begin(), data.end());
  derive(all);
  return all;
}

}  // namespace lockstep
