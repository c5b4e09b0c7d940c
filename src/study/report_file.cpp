#include "study/report_file.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "report/page.h"
#include "report/run_record.h"
#include "study/tables.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json chart_of(const Figure& figure) {
  Json chart{{"title", figure.title},
             {"x", figure.x_label},
             {"y", figure.y_label},
             {"zero", true},
             {"series", Json::array()}};
  if (!figure.names.empty()) chart["names"] = figure.names;
  for (const Figure::Series& s : figure.series) {
    Json points = Json::array();
    for (const Figure::Point& p : s.points) points.push_back({p.x, p.y, p.low, p.high, p.mark});
    chart["series"].push_back({{"name", s.name}, {"dashed", s.dashed}, {"points", points}});
  }
  return chart;
}

Json study_of(const StudyResults& results) {
  const Table table = results_table(results);
  Json json{{"title", table.caption.empty() ? results.study.name : table.caption},
            {"notes", results.study.notes},
            {"table", {{"head", table.head}, {"rows", table.rows}, {"note", table.note}}},
            {"charts", Json::array()}};
  for (const auto& [name, figure] : results_figures(results))
    json["charts"].push_back(chart_of(figure));
  return json;
}

std::string machine() {
  std::string model = "unknown processor";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") || line.starts_with("Model")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return fmt::format("Made by lockstep {} on {}, {} cores.", LOCKSTEP_VERSION, model,
                     std::thread::hardware_concurrency());
}

void add_card(Json& cards, const std::string& value, const std::string& what) {
  cards.push_back({value, what});
}

// The most telling figures of all runs.
Json cards_of(const Json& runs, const Json& studies) {
  Json cards = Json::array();
  double best = -1, fastest = -1, seconds = 0;
  for (const Json& run : runs) {
    const Json& s = run["summary"];
    if (s.contains("test_accuracy") && s["test_accuracy"].is_number())
      best = std::max(best, s["test_accuracy"].get<double>());
    if (s.contains("samples_per_second") && s["samples_per_second"].is_number())
      fastest = std::max(fastest, s["samples_per_second"].get<double>());
    if (s.contains("total_seconds") && s["total_seconds"].is_number())
      seconds += s["total_seconds"].get<double>();
  }
  if (!studies.empty())
    add_card(cards, std::to_string(studies.size()), studies.size() == 1 ? "study" : "studies");
  add_card(cards, std::to_string(runs.size()), runs.size() == 1 ? "run" : "runs");
  if (best >= 0) add_card(cards, fmt::format("{:.2f}%", best * 100), "best test accuracy");
  if (fastest >= 0) add_card(cards, fmt::format("{:.0f}", fastest), "samples/s, the fastest run");
  add_card(cards, fmt::format("{:.4g} s", seconds), "all runs, added up");
  return cards;
}

Table runs_table(const Json& runs, const std::string& title) {
  Table table{.caption = title,
              .head = {"run", "ranks", "epochs", "test accuracy", "test loss", "samples/s",
                       "total s", "kind", "data"},
              .rows = {},
              .note = ""};
  for (const Json& run : runs) {
    const std::string summary = run["summary"].dump();
    const auto number = [&](const char* column, double scale, const char* unit) {
      const auto value = figure_of(summary, column);
      return value ? fmt::format("{:.4g}{}", *value * scale, unit) : std::string();
    };
    const std::string ranks = number("parallel.ranks", 1, "");
    const Json& s = run["summary"];
    const bool over = s.value("oversubscribed", false) ||
                      (s.contains("parallel") && s["parallel"].value("oversubscribed", false));
    table.rows.push_back(
        {run["name"].get<std::string>(),
         ranks.empty() ? fmt::format("{}", s.value("ranks", 1)) : ranks, number("epochs", 1, ""),
         number("test_accuracy", 100, "%"), number("test_loss", 1, ""),
         number("samples_per_second", 1, ""), number("total_seconds", 1, ""),
         mark_name(over ? Mark::oversubscribed : Mark::measured), s.value("data", "")});
  }
  return table;
}

Figure loss_figure(const Json& runs, const std::string& title) {
  Figure figure{
      .title = title, .x_label = "step", .y_label = "training loss", .names = {}, .series = {}};
  for (const Json& run : runs) {
    Figure::Series series{.name = run["name"].get<std::string>(), .points = {}};
    for (const Json& p : run["curves"]["loss"]) {
      const double y = p[1].get<double>();
      series.points.push_back({p[0].get<double>(), y, y, y, "line"});
    }
    figure.series.push_back(std::move(series));
  }
  return figure;
}

}  // namespace

std::vector<std::string> write_report(const std::vector<fs::path>& folders, const fs::path& out,
                                      const std::string& title) {
  std::vector<std::string> skipped;
  std::vector<fs::path> runs;
  Json studies = Json::array(), records = Json::array();
  for (const fs::path& folder : folders) {
    try {
      if (!fs::exists(folder / "study.toml")) {
        runs.push_back(folder);
        continue;
      }
      const bool quick = fs::exists(folder / "quick");
      const Study study =
          parse_study(read_text(folder / "study.toml"), (folder / "study.toml").string(), quick);
      const StudyResults results = collect_results(study, folder);
      studies.push_back(study_of(results));
      for (const PointResult& p : results.points)
        runs.insert(runs.end(), p.runs.begin(), p.runs.end());
    } catch (const UserError& error) {
      skipped.emplace_back(error.what());
    }
  }
  const size_t most_points = runs.size() > 100 ? 40 : 300;
  for (const fs::path& run : runs) {
    try {
      Json record = read_run_record(run, most_points);
      if (run.parent_path().parent_path().filename() == "points")  // of a study: by its point
        record["name"] = run.parent_path().filename().string() + " · " + run.filename().string();
      if (records.size() >= 40) record.erase("config");  // shown for the first ones
      records.push_back(std::move(record));
    } catch (const UserError& error) {
      skipped.emplace_back(error.what());
    }
  }
  if (records.empty() && studies.empty())
    throw UserError("there is nothing to report: {}",
                    skipped.empty() ? "no folder was named" : skipped.front());
  const std::string kind = out.extension();
  if (kind == ".md" || kind == ".csv" || kind == ".tex") {
    const Table table = runs_table(records, title);
    write_file(out, kind == ".md"    ? to_markdown(table)
                    : kind == ".csv" ? to_csv(table)
                                     : to_latex(table));
    return skipped;
  }
  if (kind == ".svg" || kind == ".png") {
    draw(loss_figure(records, title), out);
    return skipped;
  }
  const Json data{
      {"title", title},
      {"subtitle", fmt::format("{} run{}", records.size(), records.size() == 1 ? "" : "s")},
      {"cards", cards_of(records, studies)},
      {"skipped", skipped},
      {"studies", studies},
      {"runs", records},
      {"machine", machine()}};
  write_file(out, report_page(data));
  return skipped;
}

}  // namespace lockstep
