#include "study/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "study/columns.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

const PublishedPoint* published_of(const StudyResults& r, const std::string& label) {
  for (const PublishedPoint& p : r.study.published)
    if (p.label == label) return &p;
  return nullptr;
}

std::string number(double value) {
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  return size >= 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.3g}", value);
}

std::string cell(const Spread& s, const ColumnKind& column) {
  const double scale = column.percentage ? 100 : 1;
  const std::string unit = column.percentage ? "%" : "";
  std::string text = column.percentage ? fmt::format("{:.2f}", s.median * scale) : number(s.median);
  if (s.count > 1 && s.high > s.low)
    text += fmt::format(" ({} to {})", number(s.low * scale), number(s.high * scale));
  return text + unit;
}

bool any_published(const StudyResults& r, const std::string& column) {
  return std::any_of(r.study.published.begin(), r.study.published.end(),
                     [&](const PublishedPoint& p) { return p.values.contains(column); });
}

// The numbers of what grows, if every point has one and they differ.
bool has_scale(const StudyResults& r) {
  double first = NAN;
  bool differ = false;
  for (const PointResult& p : r.points) {
    const std::string text = p.point.value(r.study.scale);
    if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos) return false;
    const double value = std::stod(text);
    if (std::isnan(first)) first = value;
    differ = differ || value != first;
  }
  return differ;
}

// The other keys of a point, which tell curves apart.
std::string rest_of(const StudyPoint& point, const std::string& scale) {
  std::string text;
  for (const auto& [key, value] : point.keys)
    if (key != scale)
      text += (text.empty() ? "" : ", ") + key.substr(key.rfind('.') + 1) + "=" + value;
  return text;
}

Figure curves(const StudyResults& r, const std::string& column, const std::string& title) {
  const ColumnKind kind = column_named(column);
  Figure figure{.title = title,
                .x_label = r.study.scale.substr(r.study.scale.rfind('.') + 1),
                .y_label = kind.title,
                .names = {},
                .series = {}};
  double most = 1;
  // Where every point differs in something else too, that is no reason for a curve of its own.
  std::set<std::string> rests;
  for (const PointResult& p : r.points) rests.insert(rest_of(p.point, r.study.scale));
  const bool one_curve = rests.size() == r.points.size();
  for (const PointResult& p : r.points) {
    const auto found = p.values.find(column);
    if (found == p.values.end()) continue;
    const std::string name = one_curve ? "" : rest_of(p.point, r.study.scale);
    const std::string shown = name.empty() ? "Lockstep" : name;
    auto series = std::find_if(figure.series.begin(), figure.series.end(),
                               [&](const Figure::Series& s) { return s.name == shown; });
    if (series == figure.series.end())
      series = figure.series.insert(figure.series.end(), {.name = shown, .points = {}});
    const double x = std::stod(p.point.value(r.study.scale));
    most = std::max(most, x);
    series->points.push_back(
        {x, found->second.median, found->second.low, found->second.high, mark_name(p.mark)});
  }
  for (Figure::Series& series : figure.series)
    std::sort(series.points.begin(), series.points.end(),
              [](const auto& a, const auto& b) { return a.x < b.x; });
  if (column == "speed_up") {
    Figure::Series ideal{.name = "ideal", .points = {}, .dashed = true};
    for (const double n : {1.0, most}) ideal.points.push_back({n, n, n, n, ""});
    figure.series.push_back(ideal);
  }
  return figure;
}

Figure bars(const StudyResults& r, const std::string& column, const std::string& title) {
  const ColumnKind kind = column_named(column);
  const double scale = kind.percentage ? 100 : 1;
  Figure figure{.title = title,
                .x_label = "",
                .y_label = kind.title + (kind.percentage ? " %" : ""),
                .names = {},
                .series = {{.name = "Lockstep", .points = {}}}};
  for (const PointResult& p : r.points) {
    const auto found = p.values.find(column);
    if (found == p.values.end()) continue;
    const auto at = static_cast<double>(figure.names.size());
    figure.series[0].points.push_back({at, found->second.median * scale, found->second.low * scale,
                                       found->second.high * scale, mark_name(p.mark)});
    figure.names.push_back(p.point.label);
  }
  return figure;
}

}  // namespace

Table results_table(const StudyResults& r) {
  Table table{.caption = r.study.title, .head = {"point", "kind"}, .rows = {}, .note = ""};
  std::vector<ColumnKind> columns;
  for (const std::string& name : r.study.columns) columns.push_back(column_named(name));
  for (const ColumnKind& column : columns) {
    table.head.push_back(column.title);
    if (any_published(r, column.name)) table.head.push_back("published " + column.title);
  }
  for (const PointResult& p : r.points) {
    const char* kind = !p.values.empty()    ? mark_name(p.mark)
                       : p.failures.empty() ? "not run"
                                            : "failed";
    std::vector<std::string> row = {p.point.label, kind};
    const PublishedPoint* published = published_of(r, p.point.label);
    for (const ColumnKind& column : columns) {
      const auto found = p.values.find(column.name);
      row.push_back(found == p.values.end() ? "" : cell(found->second, column));
      if (!any_published(r, column.name)) continue;
      const bool known = published && published->values.contains(column.name);
      row.push_back(known ? cell({published->values.at(column.name), 0, 0, 1}, column) : "");
    }
    table.rows.push_back(std::move(row));
  }
  table.note = fmt::format("Median of {} run{}{}. Data: {}.", r.study.repeats,
                           r.study.repeats == 1 ? "" : "s",
                           r.study.repeats == 1            ? ""
                           : r.study.spread == "bootstrap" ? " and 95% bootstrap interval"
                                                           : " and interquartile range",
                           fmt::join(r.data, "; "));
  for (const PointResult& p : r.points)
    for (const std::string& reason : p.failures)
      table.note += fmt::format(" {}: {}.", p.point.label, reason);
  return table;
}

std::vector<std::pair<std::string, Figure>> results_figures(const StudyResults& r) {
  std::vector<std::pair<std::string, Figure>> all;
  const bool scales = has_scale(r);
  const std::string time =
      r.study.time == "total_seconds" ? "Total time" : column_named(r.study.time).title;
  all.emplace_back("time", scales ? curves(r, r.study.time, time) : bars(r, r.study.time, time));
  if (scales)
    all.emplace_back(
        "speed-up",
        curves(r, "speed_up", r.study.more_is == "weak" ? "Weak scaling" : "Strong scaling"));
  for (const char* accuracy : {"test_accuracy", "fold_accuracy", "precision_at_10"}) {
    const auto& columns = r.study.columns;
    if (std::find(columns.begin(), columns.end(), accuracy) == columns.end()) continue;
    all.emplace_back("accuracy", bars(r, accuracy, column_named(accuracy).title));
    break;
  }
  return all;
}

std::string results_json(const StudyResults& r) {
  Json json{{"name", r.study.name}, {"title", r.study.title}, {"data", r.data}};
  for (const PointResult& p : r.points) {
    Json point{{"label", p.point.label}, {"kind", mark_name(p.mark)}, {"values", Json::object()}};
    for (const auto& [key, value] : p.point.keys) point["keys"][key] = value;
    for (const auto& [column, s] : p.values)
      point["values"][column] = {
          {"median", s.median}, {"low", s.low}, {"high", s.high}, {"runs", s.count}};
    if (const PublishedPoint* published = published_of(r, p.point.label))
      point["published"] = published->values;
    if (!p.failures.empty()) point["failures"] = p.failures;
    json["points"].push_back(std::move(point));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_results(const StudyResults& results, const fs::path& folder) {
  const Table table = results_table(results);
  write_file(folder / "table.md", to_markdown(table));
  write_file(folder / "table.csv", to_csv(table));
  write_file(folder / "table.tex", to_latex(table));
  write_file(folder / "results.json", results_json(results));
  for (const auto& [name, figure] : results_figures(results))
    for (const char* ending : {".svg", ".png"}) draw(figure, folder / (name + ending));
}

}  // namespace lockstep
