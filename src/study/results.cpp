#include "study/results.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "study/columns.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::optional<double> number_in(const Json& json, const std::string& column) {
  const Json* at = &json;
  for (size_t from = 0; from <= column.size();) {
    const size_t dot = std::min(column.find('.', from), column.size());
    const std::string name = column.substr(from, dot - from);
    if (!at->is_object() || !at->contains(name)) return std::nullopt;
    at = &(*at)[name];
    from = dot + 1;
  }
  if (at->is_number()) return at->get<double>();
  if (!at->is_array() || at->empty()) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& item : *at)
    if (item.is_number()) numbers.push_back(item.get<double>());
  if (numbers.empty()) return std::nullopt;
  std::sort(numbers.begin(), numbers.end());
  return quantile(numbers, 0.5);
}

double number_or(const std::string& text, double otherwise) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    return otherwise;
  }
}

// The point that a point is compared with: of those where what grows is smallest, the one that
// shares most of its other values.
const PointResult* baseline_of(const PointResult& result, const StudyResults& all) {
  const std::string& scale = all.study.scale;
  const auto size = [&](const PointResult& p) { return number_or(p.point.value(scale), 1); };
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
  const bool weak = all.study.more_is == "weak";
  double slowest = 0;
  for (const PointResult& r : all.points)
    if (const auto found = r.values.find(time); found != r.values.end())
      slowest = std::max(slowest, found->second.median);
  for (PointResult& r : all.points) {
    const auto mine = r.values.find(time);
    const PointResult* base = baseline_of(r, all);
    if (mine == r.values.end() || !base) continue;
    const Spread t = mine->second;
    const double t1 = base->values.at(time).median;
    const double n = number_or(r.point.value(all.study.scale), 1) /
                     number_or(base->point.value(all.study.scale), 1);
    // A longer time is a smaller speed-up, so the ends change places.
    const auto add = [&](const char* column, auto of) {
      r.values[column] = {of(t.median), std::min(of(t.low), of(t.high)),
                          std::max(of(t.low), of(t.high)), t.count};
    };
    const double work = weak ? n : 1;
    add("speed_up", [&](double x) { return work * t1 / x; });
    add("efficiency", [&](double x) { return work * t1 / x / n; });
    add("improvement", [&](double x) { return (t1 - x) / t1 * 100; });
    add("gain", [&](double x) { return (slowest - x) / slowest * 100; });
    if (n > 1) add("karp_flatt", [&](double x) { return (x / (work * t1) - 1 / n) / (1 - 1 / n); });
  }
}

}  // namespace

Spread spread_of(std::vector<double> values, const std::string& kind) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const Spread quartiles{quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75),
                         static_cast<int64_t>(values.size())};
  if (kind != "bootstrap" || values.size() < 2) return quartiles;
  Rng rng(1, Purpose::split, 80);
  std::vector<double> medians, sample(values.size());
  for (int i = 0; i < 2000; ++i) {
    for (double& value : sample) value = values[rng.below(values.size())];
    std::sort(sample.begin(), sample.end());
    medians.push_back(quantile(sample, 0.5));
  }
  std::sort(medians.begin(), medians.end());
  return {quartiles.median, quantile(medians, 0.025), quantile(medians, 0.975), quartiles.count};
}

const char* mark_name(Mark mark) {
  switch (mark) {
    case Mark::oversubscribed:
      return "oversubscribed";
    case Mark::simulated:
      return "simulated";
    default:
      return "measured";
  }
}

fs::path run_folder(const fs::path& folder, const StudyPoint& point, int64_t repeat) {
  return folder / "points" / point.label / fmt::format("run-{}", repeat);
}

std::optional<double> figure_of(const std::string& summary, const std::string& column) {
  const Json json = Json::parse(summary, nullptr, false);
  return json.is_object() ? number_in(json, column) : std::nullopt;
}

StudyResults collect_results(const Study& study, const fs::path& folder) {
  StudyResults all{.study = study, .data = {}, .points = {}};
  std::set<std::string> columns(study.columns.begin(), study.columns.end()), data;
  columns.insert(study.time);
  for (const StudyPoint& point : study.points) {
    PointResult result{.point = point};
    std::map<std::string, std::vector<double>> values;
    for (int64_t repeat = 0; repeat < study.repeats; ++repeat) {
      const fs::path run = run_folder(folder, point, repeat);
      if (fs::exists(run / "failed.txt")) {
        result.failures.push_back(read_text(run / "failed.txt"));
        continue;
      }
      if (!fs::exists(run / "summary.json")) continue;
      const Json json = Json::parse(read_text(run / "summary.json"), nullptr, false);
      if (!json.is_object()) {
        result.failures.push_back((run / "summary.json").string() + " is damaged");
        continue;
      }
      result.runs.push_back(run);
      for (const std::string& column : columns)
        if (const auto number = number_in(json, column)) values[column].push_back(*number);
      const bool over =
          json.value("oversubscribed", false) ||
          (json.contains("parallel") && json["parallel"].value("oversubscribed", false));
      if (over) result.mark = Mark::oversubscribed;
      if (json.value("simulated", false)) result.mark = Mark::simulated;
      if (json.contains("data") && json["data"].is_string()) data.insert(json["data"]);
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
