#include "study/output/report_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "report/document.h"
#include "report/numbers.h"
#include "report/page.h"
#include "report/run_curves.h"
#include "report/runs_table.h"
#include "study/output/figures.h"
#include "study/output/report_sources.h"
#include "study/output/tables.h"
#include "study/results/claims.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t most_drawn = 40;  // highest number of runs with curves and configurations

enum class Format { html, markdown, csv, latex, svg, png, pdf };

Format format_of(const fs::path& out) {
  static const std::pair<const char*, Format> known[] = {
      {".html", Format::html}, {".md", Format::markdown}, {".csv", Format::csv},
      {".tex", Format::latex}, {".svg", Format::svg},     {".png", Format::png},
      {".pdf", Format::pdf}};
  std::string ending = out.extension(), all;
  for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [text, format] : known) {
    if (text == ending) return format;
    all += (all.empty() ? "" : " ") + std::string(text);
  }
  throw UserError("-o {}: {} is not a report format; known extensions: {}", printable(out.string()),
                  ending.empty() ? "a name without an extension" : "'" + printable(ending) + "'",
                  all);
}

std::string machine() {
  std::string model = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") || line.starts_with("Model")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return fmt::format("Made by lockstep {} on {}, {}.", LOCKSTEP_VERSION, model,
                     plural(std::thread::hardware_concurrency(), "core"));
}

// ------------------------------------------------------------------------------------- contents

constexpr const char* steps_axis = "step";

struct CurveKind {
  const char *curve, *title, *x;
};
constexpr CurveKind main_curves[] = {{"loss", "Training loss", steps_axis},
                                     {"eval_loss", "Validation loss", steps_axis},
                                     {"accuracy", "Training accuracy", "epoch"},
                                     {"seconds", "Seconds per epoch", "epoch"}};
constexpr CurveKind more_curves[] = {
    {"learning_rate", "Learning rate", steps_axis},
    {"grad_norm", "Gradient norm", steps_axis},
    {"eval_runtime", "Seconds per evaluation", steps_axis},
    {"eval_steps_per_second", "Evaluation steps per second", steps_axis},
    {"eval_samples_per_second", "Evaluation samples per second", steps_axis},
    {"epoch", "Epochs", steps_axis},
    {"global_step", "Steps", "epoch"}};

// Curves of runs. Those that no run has are left out.
std::vector<Figure> runs_figures(const std::vector<RunRecord>& runs, size_t most_points,
                                 std::span<const CurveKind> kinds) {
  std::vector<Figure> figures;
  for (const CurveKind& kind : kinds)
    figures.push_back({.title = kind.title,
                       .x_label = kind.x,
                       .y_label = kind.title,
                       .names = {},
                       .series = {},
                       .note = "",
                       .from_zero = false});
  for (size_t i = 0; i < std::min(runs.size(), most_drawn); ++i) {
    const auto curves = read_curves(runs[i].path, most_points);
    for (size_t k = 0; k < figures.size(); ++k) {
      const auto found = curves.find(kinds[k].curve);
      if (found == curves.end()) continue;
      Figure::Series series{.name = printable(runs[i].shown_name()), .points = {}};
      const bool alone = found->second.size() == 1;  // needs a marker: a line would be invisible
      for (const auto& [x, y] : found->second)
        series.points.push_back({x, y, y, y, alone ? std::optional(runs[i].kind) : std::nullopt});
      figures[k].series.push_back(std::move(series));
    }
  }
  std::erase_if(figures, [](const Figure& figure) { return figure.series.empty(); });
  if (runs.size() > most_drawn)
    for (Figure& figure : figures)
      figure.note = fmt::format("the first {} of {} runs", most_drawn, runs.size());
  return figures;
}

Table table_of(const ReportSources& sources, const std::string& title) {
  Table table = runs_table(sources.runs, title);
  for (const std::string& skipped : sources.skipped)
    table.note += (table.note.empty() ? "Left out: " : "; ") + printable(skipped);
  return table;
}

// ----------------------------------------------------------------------------------------- HTML

Json chart_of(const Figure& figure) {
  Json chart{{"title", figure.title},    {"x", figure.x_label},       {"y", figure.y_label},
             {"zero", figure.from_zero}, {"log", figure.logarithmic}, {"series", Json::array()},
             {"note", figure.note}};
  if (!figure.names.empty()) chart["names"] = figure.names;
  for (const Figure::Series& s : figure.series) {
    Json points = Json::array();
    for (const Figure::Point& p : s.points)
      points.push_back({p.x, p.y, p.low, p.high, p.kind ? Json(kind_name(*p.kind)) : Json()});
    chart["series"].push_back(
        {{"name", s.name}, {"dashed", s.dashed}, {"published", s.published}, {"points", points}});
  }
  return chart;
}

Json json_of(const Table& table) {
  return {{"head", table.head}, {"rows", table.rows}, {"note", table.note}};
}

Json study_of(const StudyResults& results) {
  const Table table = results_table(results);
  Json json{{"title", table.caption.empty() ? results.study.name : table.caption},
            {"notes", results.study.notes},
            {"table", json_of(table)},
            {"grids", Json::array()},
            {"charts", Json::array()}};
  for (const auto& [name, grid] : results_grids(results)) {
    json["grids"].push_back(json_of(grid));
    json["grids"].back()["title"] = grid.caption;
  }
  if (!results.study.claims.empty()) {
    const Table claims = claims_table({results});
    json["grids"].push_back(json_of(claims));
    json["grids"].back()["title"] = claims.caption;
  }
  for (const auto& [name, figure] : results_figures(results))
    json["charts"].push_back(chart_of(figure));
  return json;
}

std::string html_page(const ReportSources& sources, const std::string& title) {
  const size_t most_points = sources.runs.size() > 100 ? 100 : 300;
  Json data{{"title", title},
            {"subtitle", plural(static_cast<int64_t>(sources.runs.size()), "run")},
            {"tiles", tiles_of(sources.runs, sources.studies.size())},
            {"skipped", sources.skipped},
            {"studies", Json::array()},
            {"table", json_of(runs_table(sources.runs, ""))},
            {"charts", Json::array()},
            {"more_charts", Json::array()},
            {"shares", Json::array()},
            {"diagnoses", Json::array()},
            {"details", Json::array()},
            {"machine", machine()}};
  if (sources.studies.size() > 1) data["claims"] = json_of(claims_table(sources.studies));
  for (const StudyResults& study : sources.studies) data["studies"].push_back(study_of(study));
  for (const Figure& figure : runs_figures(sources.runs, most_points, main_curves))
    data["charts"].push_back(chart_of(figure));
  for (const Figure& figure : runs_figures(sources.runs, most_points, more_curves))
    data["more_charts"].push_back(chart_of(figure));
  for (size_t i = 0; i < std::min(sources.runs.size(), most_drawn); ++i) {
    const RunRecord& run = sources.runs[i];
    if (!run.shares.empty())
      data["shares"].push_back({{"name", run.shown_name()}, {"values", run.shares}});
    if (!run.diagnosis.empty()) data["diagnoses"].push_back(run.name + ": " + run.diagnosis);
    Json lanes = Json::array();
    for (const LaneEvent& e : read_lanes(run.path))
      lanes.push_back({e.rank, e.name, e.start_ms, e.length_ms});
    data["details"].push_back({{"name", run.shown_name()},
                               {"path", run.path.string()},
                               {"device", run.device},
                               {"versions", run.versions},
                               {"config", run.config},
                               {"lanes", lanes}});
  }
  return report_page(data);
}

// ------------------------------------------------------------------------------------------ PDF

void add_notes(const std::string& notes, Document& document) {
  for (size_t at = 0; at < notes.size();) {
    const size_t end = std::min(notes.find("\n\n", at), notes.size());
    document.parts.emplace_back(Paragraph{notes.substr(at, end - at)});
    at = end + 2;
  }
}

// Pages are narrow: data that all runs share are named in the note instead of a column.
Table narrow_runs_table(const std::vector<RunRecord>& runs) {
  Table table = runs_table(runs, "Runs");
  const bool same = std::all_of(runs.begin(), runs.end(), [&](const RunRecord& run) {
    return run.data == runs.front().data;
  });
  if (!same || runs.front().data.empty()) return table;
  table.note = "Data: " + table.rows.front().back() + ".";
  table.head.pop_back();
  for (auto& row : table.rows) row.pop_back();
  return table;
}

Document document_of(const ReportSources& sources, const std::string& title) {
  Document document{.title = title, .subtitle = machine(), .parts = {}};
  std::string tiles;
  for (const auto& [value, what] : tiles_of(sources.runs, sources.studies.size()))
    tiles += (tiles.empty() ? "" : "; ") + value + " " + what;
  document.parts.emplace_back(Paragraph{tiles});
  for (const std::string& skipped : sources.skipped)
    document.parts.emplace_back(Paragraph{"Left out: " + skipped});
  const auto add_figure = [&](Figure figure) { document.parts.emplace_back(std::move(figure)); };
  for (const StudyResults& study : sources.studies) {
    Table table = results_table(study);
    if (table.caption.empty()) table.caption = study.study.name;
    document.parts.emplace_back(std::move(table));
    for (auto& [name, grid] : results_grids(study)) document.parts.emplace_back(std::move(grid));
    if (!study.study.claims.empty()) document.parts.emplace_back(claims_table({study}));
    for (auto& [name, figure] : results_figures(study)) add_figure(std::move(figure));
    add_notes(study.study.notes, document);
  }
  if (sources.runs.empty()) return document;
  document.parts.emplace_back(narrow_runs_table(sources.runs));
  if (Table shares = shares_table(sources.runs); !shares.rows.empty())
    document.parts.emplace_back(std::move(shares));
  std::vector<Figure> figures = runs_figures(sources.runs, 300, main_curves);
  if (!figures.empty()) document.parts.emplace_back(Heading{"Curves"});
  for (Figure& figure : figures) add_figure(std::move(figure));
  return document;
}

// --------------------------------------------------------------------------------- tables, curves

template <typename Text>
std::string tables(const ReportSources& sources, const std::string& title, Text text_of) {
  std::string all;
  for (const StudyResults& study : sources.studies) {
    all += text_of(results_table(study)) + "\n";
    if (!study.study.claims.empty()) all += text_of(claims_table({study})) + "\n";
  }
  return all + text_of(table_of(sources, title));
}

Figure loss_figure(const ReportSources& sources, const std::string& title) {
  std::vector<Figure> losses = runs_figures(sources.runs, 300, std::span(main_curves).first(1));
  if (!losses.empty()) {
    losses.front().title = title;
    return losses.front();
  }
  throw UserError(
      "none of these runs has a training loss to draw (simulated ones have none); .html and .pdf "
      "show what they have");
}

}  // namespace

std::vector<std::string> write_report(const std::vector<fs::path>& folders, const fs::path& out,
                                      const std::string& title) {
  const Format format = format_of(out);
  const ReportSources sources = read_sources(folders);
  if (sources.runs.empty() && sources.studies.empty())
    throw UserError("there is nothing to report: {}", sources.skipped.empty()
                                                          ? "no folder was named"
                                                          : printable(sources.skipped.front()));
  switch (format) {
    case Format::html:
      write_file(out, html_page(sources, title));
      break;
    case Format::markdown:
      write_file(out, tables(sources, title, to_markdown));
      break;
    case Format::latex:
      write_file(out, tables(sources, title, to_latex));
      break;
    case Format::csv:
      write_file(out, to_csv(table_of(sources, title)));
      break;
    case Format::svg:
    case Format::png:
      draw(loss_figure(sources, title), out);
      break;
    case Format::pdf:
      write_pdf(document_of(sources, title), out);
      break;
  }
  return sources.skipped;
}

}  // namespace lockstep
