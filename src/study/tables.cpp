#include "study/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/nearest.h"
#include "report/numbers.h"
#include "report/runs_table.h"
#include "study/comparison.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string value_text(double value, const ColumnKind& column) {
  return column.percentage ? percent_text(value) : number_text(value);
}

std::string cell(const Spread& s, const ColumnKind& column) {
  std::string text = value_text(s.median, column);
  if (s.count > 1 && s.high > s.low)
    text += fmt::format(" ({} to {})", value_text(s.low, column), value_text(s.high, column));
  return text;
}

bool any_published(const StudyResults& r, const std::string& column) {
  return std::any_of(r.points.begin(), r.points.end(), [&](const PointResult& p) {
    const PublishedPoint* published = published_of(r, p.point);
    return published && published->values.contains(column);
  });
}

bool is_parallel(const StudyResults& r) {
  return std::any_of(r.points.begin(), r.points.end(), [](const PointResult& p) {
    return !p.runs.empty() && p.runs.front().ranks > 1;
  });
}

Figure curves(const StudyResults& r, const std::string& column, const std::string& title) {
  const ColumnKind kind = column_named(column);
  Figure figure{.title = title,
                .x_label = r.study.scale.substr(r.study.scale.rfind('.') + 1),
                .y_label = title_of(kind, r),
                .names = {},
                .series = {},
                .note = ""};
  double least = 1e30, most = 0;
  for (const PointResult& p : r.points) {
    const auto found = p.values.find(column);
    if (found == p.values.end()) continue;
    const std::string name = curve_of(r, p.point);
    const std::string shown = name.empty() ? "Lockstep" : name;
    auto series = std::find_if(figure.series.begin(), figure.series.end(),
                               [&](const Figure::Series& s) { return s.name == shown; });
    if (series == figure.series.end())
      series = figure.series.insert(figure.series.end(), {.name = shown, .points = {}});
    const double x = scale_of(r.study, p.point).value();
    least = std::min(least, x);
    most = std::max(most, x);
    series->points.push_back(
        {x, found->second.median, found->second.low, found->second.high, p.kind()});
  }
  for (Figure::Series& series : figure.series)
    std::sort(series.points.begin(), series.points.end(),
              [](const auto& a, const auto& b) { return a.x < b.x; });
  if (kind.relative == RelativeTo::base_over && most > least) {
    Figure::Series ideal{.name = "ideal", .points = {}, .dashed = true};
    for (const double n : {least, most}) {
      const double times = n / least;
      ideal.points.push_back({n, times, times, times, std::nullopt});
    }
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
                .series = {{.name = "Lockstep", .points = {}}},
                .note = ""};
  for (const PointResult& p : r.points) {
    const auto found = p.values.find(column);
    if (found == p.values.end()) continue;
    const auto at = static_cast<double>(figure.names.size());
    figure.series[0].points.push_back({at, found->second.median * scale, found->second.low * scale,
                                       found->second.high * scale, p.kind()});
    figure.names.push_back(p.point.label);
  }
  return figure;
}

}  // namespace

Table results_table(const StudyResults& r) {
  Table table{.caption = r.study.title, .head = {"point", "kind"}, .rows = {}, .note = ""};
  const bool parallel = is_parallel(r);
  if (parallel) table.head.insert(table.head.end(), batch_columns().begin(), batch_columns().end());
  std::vector<ColumnKind> columns;
  for (const std::string& name : r.study.columns) columns.push_back(column_named(name));
  for (const ColumnKind& column : columns) {
    table.head.push_back(title_of(column, r));
    if (any_published(r, column.name)) table.head.push_back("published " + column.title);
  }
  for (const PointResult& p : r.points) {
    const char* kind = !p.values.empty()    ? kind_name(p.kind())
                       : p.failures.empty() ? "not run"
                                            : "failed";
    std::vector<std::string> row = {p.point.label, kind};
    if (parallel) {
      const auto cells = p.runs.empty() ? std::vector<std::string>(batch_columns().size())
                                        : batch_cells(p.runs.front());
      row.insert(row.end(), cells.begin(), cells.end());
    }
    const PublishedPoint* published = published_of(r, p.point);
    for (const ColumnKind& column : columns) {
      const auto found = p.values.find(column.name);
      row.push_back(found == p.values.end() ? "" : cell(found->second, column));
      if (!any_published(r, column.name)) continue;
      const bool known = published && published->values.contains(column.name);
      row.push_back(known ? value_text(published->values.at(column.name), column) : "");
    }
    table.rows.push_back(std::move(row));
  }
  table.note = fmt::format("Median of {}{}. Data: {}.", plural(r.study.repeats, "run"),
                           r.study.repeats == 1                    ? ""
                           : r.study.spread == Interval::bootstrap ? " and 95% bootstrap interval"
                                                                   : " and interquartile range",
                           r.data.empty() ? "not known" : printable(join(r.data, "; ")));
  const auto& names = r.study.columns;
  if (!r.slowest.empty() && std::find(names.begin(), names.end(), "gain") != names.end())
    table.note += fmt::format(" The slowest point is '{}'.", r.slowest);
  if (const std::string note = note_on_published(r); !note.empty()) table.note += " " + note;
  for (const PointResult& p : r.points)
    for (const std::string& reason : p.failures)
      table.note += fmt::format(" {}: {}.", p.point.label, printable(reason));
  return table;
}

std::vector<std::pair<std::string, Figure>> results_figures(const StudyResults& r) {
  std::vector<std::pair<std::string, Figure>> all;
  const bool scales = has_scale(r);
  const std::string time = column_named(r.study.time).figure_title();
  all.emplace_back("time", scales ? curves(r, r.study.time, time) : bars(r, r.study.time, time));
  if (scales) {
    const ScalingTitle scaling = scaling_title(r);
    all.emplace_back("speed-up", curves(r, "speed_up", scaling.title));
    all.back().second.note = scaling.note;
  }
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
    Json point{{"label", p.point.label}, {"kind", kind_name(p.kind())}, {"values", Json::object()}};
    if (!p.base.empty()) point["base"] = p.base;
    if (!p.runs.empty()) {
      const RunRecord& run = p.runs.front();
      point["ranks"] = run.ranks;
      if (run.batch_per_rank) point["batch_per_rank"] = *run.batch_per_rank;
      if (run.global_batch) point["global_batch"] = *run.global_batch;
      if (run.learning_rate) point["learning_rate"] = *run.learning_rate;
    }
    for (const auto& [key, value] : p.point.keys) point["keys"][key] = value;
    for (const auto& [column, s] : p.values)
      point["values"][column] = {
          {"median", s.median}, {"low", s.low}, {"high", s.high}, {"runs", s.count}};
    if (const PublishedPoint* published = published_of(r, p.point))
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
