#include "study/output/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/names.h"
#include "base/nearest.h"
#include "report/numbers.h"
#include "report/runs_table.h"
#include "study/output/figures.h"
#include "study/placement.h"
#include "study/results/claims.h"
#include "study/results/comparison.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const Spread& s, const ColumnKind& column) {
  std::string text = value_text(s.median, column);
  if (s.count > 1 && s.high > s.low)
    text += fmt::format(" ({} to {})", value_text(s.low, column), value_text(s.high, column));
  return text;
}

bool any_published(const StudyResults& r, const std::string& column) {
  for (const PublishedPoint& p : r.study.published)
    if (p.reference && p.values.contains(column)) return true;
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

// Columns "nodes" and "processes per node" of studies that place their points.
bool has_nodes(const StudyResults& r) {
  return std::any_of(r.points.begin(), r.points.end(), [](const PointResult& p) {
    return !p.point.value(std::string(nodes_key)).empty();
  });
}

std::string published_text(const PublishedValue& value, const ColumnKind& column) {
  return value.text.empty() ? value_text(value.number, column) : value.text;
}

}  // namespace

Table results_table(const StudyResults& r) {
  Table table{.caption = r.study.title, .head = {"point", "kind"}, .rows = {}, .note = ""};
  const bool parallel = is_parallel(r);
  const bool nodes = has_nodes(r);
  if (nodes) table.head.insert(table.head.end(), {"nodes", "processes per node"});
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
    if (nodes)
      row.insert(row.end(), {std::to_string(p.point.nodes()),
                             std::to_string(processes_per_node(r.study, p.point))});
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
      row.push_back(known ? published_text(published->values.at(column.name), column) : "");
    }
    table.rows.push_back(std::move(row));
  }
  for (const PublishedPoint& p : r.study.published) {
    if (!p.reference) continue;
    std::vector<std::string> row = {p.label, "published"};
    for (const ColumnKind& column : columns) {
      if (!any_published(r, column.name)) {
        row.emplace_back();
        continue;
      }
      const auto found = p.values.find(column.name);
      row.emplace_back();
      row.push_back(found == p.values.end() ? "" : published_text(found->second, column));
    }
    const size_t extra = table.head.size() - row.size();
    row.insert(row.begin() + 2, extra, "");
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

std::vector<std::pair<std::string, Table>> results_grids(const StudyResults& r) {
  std::vector<std::pair<std::string, Table>> all;
  for (const GridSpec& spec : r.study.grids) {
    const ColumnKind column = column_named(spec.value);
    std::vector<std::string> rows, columns;
    const auto note = [](std::vector<std::string>& values, const std::string& value) {
      if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end())
        values.push_back(value);
    };
    std::map<std::pair<std::string, std::string>, std::string> cells;
    for (const PointResult& p : r.points) {
      const std::string row = p.point.value(spec.rows), at = p.point.value(spec.columns);
      if (row.empty() || at.empty() || !is_selected(p.point, spec.where)) continue;
      note(rows, row);
      note(columns, at);
      std::string& text = cells[{row, at}];
      if (const auto found = p.values.find(column.name); found != p.values.end())
        text = value_text(found->second.median, column) +
               (is_qualified(p.kind()) || p.kind() == RunKind::simulated
                    ? fmt::format(" ({})", kind_name(p.kind()))
                    : "");
      const PublishedPoint* published = published_of(r, p.point);
      if (published && published->values.contains(column.name))
        text += " [" + published_text(published->values.at(column.name), column) + "]";
    }
    const auto short_name = [](const std::string& key) { return key.substr(key.rfind('.') + 1); };
    Table table{.caption = spec.title, .head = {}, .rows = {}, .note = ""};
    table.head.push_back(fmt::format("{} \\ {}", short_name(spec.rows), short_name(spec.columns)));
    table.head.insert(table.head.end(), columns.begin(), columns.end());
    bool any = false;
    for (const std::string& row : rows) {
      table.rows.push_back({row});
      for (const std::string& at : columns) {
        table.rows.back().push_back(cells[{row, at}]);
        any = any || !cells[{row, at}].empty();
      }
    }
    table.note = column_named(spec.value).title + "; published values in square brackets.";
    if (any) all.emplace_back(spec.name, std::move(table));
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
      for (const auto& [column, value] : published->values)
        point["published"][column] = value.number;
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
  for (const auto& [name, grid] : results_grids(results)) {
    write_file(folder / (name + ".md"), to_markdown(grid));
    write_file(folder / (name + ".csv"), to_csv(grid));
    write_file(folder / (name + ".tex"), to_latex(grid));
  }
  if (!results.study.claims.empty()) write_claims({results}, folder);
  for (const auto& [name, figure] : results_figures(results))
    for (const char* ending : {".svg", ".png", ".pdf"}) draw(figure, folder / (name + ending));
}

}  // namespace lockstep
