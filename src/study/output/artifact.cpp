#include "study/output/artifact.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/numbers.h"
#include "study/results/claims.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::ostringstream text;
  text << std::put_time(&parts, "%Y-%m-%dT%H:%M:%SZ");
  return text.str();
}

const char* media_type(const fs::path& file) {
  static constexpr std::pair<const char*, const char*> known[] = {
      {".md", "text/markdown"},      {".csv", "text/csv"},        {".tex", "application/x-tex"},
      {".json", "application/json"}, {".html", "text/html"},      {".svg", "image/svg+xml"},
      {".png", "image/png"},         {".pdf", "application/pdf"}, {".toml", "application/toml"}};
  for (const auto& [ending, type] : known)
    if (file.extension() == ending) return type;
  return "application/octet-stream";
}

// Files that describe the results; those of single runs are described by their folder.
std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const fs::path file = fs::relative(entry.path(), folder);
    const bool of_a_run = std::ranges::any_of(
        file, [](const fs::path& part) { return part == fs::path("points") || part == "warm-up"; });
    if (entry.is_regular_file() && !of_a_run) files.push_back(file);
  }
  std::ranges::sort(files);
  return files;
}

std::string seconds_in_minutes(double seconds) {
  return seconds < 60 ? "under 1" : fmt::format("{:.0f}", seconds / 60);
}

double seconds_of_runs(const StudyResults& results) {
  double seconds = 0;
  for (const PointResult& point : results.points)
    for (const RunRecord& run : point.runs)
      if (run.kind != RunKind::simulated) seconds += run.total_seconds.value_or(0);
  return seconds;
}

std::string readme(const std::vector<StudyResults>& studies, const std::string& title,
                   const std::string& command) {
  std::string text =
      "# " + title + "\n\nMade by lockstep " + LOCKSTEP_VERSION + " with\n\n```\n" + command +
      "\n```\n\nThe same command continues where a run is missing; with --force it "
      "starts over. With --check it prints which claims hold and exits with 1 if "
      "one does not. report.html has all tables and figures.\n\n## Time\n\n| study | "
      "runs | minutes of the measured runs |\n|---|---:|---:|\n";
  for (const StudyResults& results : studies) {
    size_t runs = 0;
    for (const PointResult& point : results.points) runs += point.runs.size();
    text += fmt::format("| {} | {} | {} |\n", results.study.name, runs,
                        seconds_in_minutes(seconds_of_runs(results)));
  }
  text +=
      "\n## Claims\n\n| study | claim | published | expected | ours | verdict |\n"
      "|---|---|---|---|---|---|\n";
  for (const StudyResults& results : studies)
    for (const TestedClaim& test : test_claims(results))
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", results.study.name, test.claim->text,
                          test.claim->published, test.expected, test.ours, test.verdict_text());
  return text;
}

Json crate(const fs::path& folder, const std::string& title, const std::string& command,
           const std::string& notes) {
  const std::string now = time_now();
  Json parts = Json::array(), files = Json::array();
  for (const fs::path& file : files_in(folder)) {
    parts.push_back({{"@id", file.generic_string()}});
    files.push_back({{"@id", file.generic_string()},
                     {"@type", "File"},
                     {"name", file.filename().string()},
                     {"encodingFormat", media_type(file)},
                     {"contentSize", std::to_string(fs::file_size(folder / file))}});
  }
  Json graph = Json::array();
  graph.push_back({{"@id", "ro-crate-metadata.json"},
                   {"@type", "CreativeWork"},
                   {"conformsTo", {{"@id", "https://w3id.org/ro/crate/1.1"}}},
                   {"about", {{"@id", "./"}}}});
  graph.push_back({{"@id", "./"},
                   {"@type", "Dataset"},
                   {"name", title},
                   {"description", notes},
                   {"datePublished", now},
                   {"license", "Results of the program; see the licences of the data they use."},
                   {"hasPart", parts},
                   {"mentions", {{"@id", "#making"}}}});
  graph.push_back({{"@id", "#making"},
                   {"@type", "CreateAction"},
                   {"name", "Run of the study"},
                   {"description", command},
                   {"instrument", {{"@id", "#lockstep"}}},
                   {"result", {{"@id", "./"}}},
                   {"endTime", now}});
  graph.push_back({{"@id", "#lockstep"},
                   {"@type", "SoftwareApplication"},
                   {"name", "Lockstep"},
                   {"version", LOCKSTEP_VERSION}});
  for (Json& file : files) graph.push_back(std::move(file));
  return {{"@context", "https://w3id.org/ro/crate/1.1/context"}, {"@graph", graph}};
}

}  // namespace

void write_artifact_description(const std::vector<StudyResults>& studies, const fs::path& folder,
                                const std::string& title, const std::string& command) {
  write_file(folder / "README.md", readme(studies, title, command));
  std::string notes = title;
  if (studies.size() == 1 && !studies.front().study.notes.empty())
    notes = studies.front().study.notes;
  write_file(folder / "ro-crate-metadata.json",
             crate(folder, title, command, notes).dump(2) + "\n");
}

}  // namespace lockstep
