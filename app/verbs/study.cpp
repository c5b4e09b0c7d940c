#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "base/names.h"
#include "job/interrupt.h"
#include "os/program.h"
#include "study/report_file.h"
#include "study/runner.h"
#include "study/shipped_studies.h"
#include "study/study_folder.h"
#include "study/tables.h"
#include "text.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string study, out;
  std::vector<std::string> changes;
  bool quick = false, json = false, list = false, quiet = false, force = false;
};

void list_studies() {
  std::vector<std::vector<std::string>> rows = {{"study", "title", "runs"}};
  for (const ShippedStudy& shipped : shipped_studies()) {
    const Study study = parse_study(shipped.text, shipped.name, false);
    rows.push_back({shipped.name, study.title,
                    std::to_string(static_cast<int64_t>(study.points.size()) * study.repeats)});
  }
  fmt::print("{}", table(rows));
}

void show(const StudyProgress& p, bool terminal) {
  const std::string line = fmt::format("{} of {} runs done{}{}{}", p.done, p.all,
                                       p.failed > 0 ? fmt::format(", {} failed", p.failed) : "",
                                       p.left > 0 ? ", about " + short_time(p.left) + " left" : "",
                                       p.point.empty() ? "" : "; now " + printable(p.point));
  fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", line,
             terminal && p.done < p.all ? "" : "\n");
}

void print_results(const StudyResults& results, const fs::path& folder) {
  const Table made = results_table(results);
  std::vector<std::vector<std::string>> rows = {made.head};
  rows.insert(rows.end(), made.rows.begin(), made.rows.end());
  fmt::print("{}\n{}\n{}\n", printable(made.caption), table(rows), printable(made.note));
  fmt::print("Tables, figures and report.html are in {}\n", printable(folder.string()));
}

void study(const Options& options) {
  if (options.list) {
    list_studies();
    return;
  }
  if (options.study.empty())
    throw UserError("name a study: a TOML file, or one of 'lockstep study --list'");
  const std::string text = find_study(options.study);
  Study study = parse_study(text, options.study, options.quick);
  if (study.name.empty()) {
    study.name = fs::path(options.study).stem().string();
    expect_name(study.name, options.study);
  }
  // Configuration files may lie beside the study's file.
  for (StudyPoint& point : study.points) {
    const fs::path beside = fs::path(options.study).parent_path() / point.config;
    if (!fs::exists(point.config) && fs::is_regular_file(beside)) point.config = beside.string();
  }
  change_points(study, options.changes);
  const fs::path folder = options.out.empty()
                              ? fs::path("runs") / (study.name + (options.quick ? "-quick" : ""))
                              : fs::path(options.out);
  if (options.force) remove_results(study, folder);
  save_origin({text, options.quick, options.changes}, folder);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const InterruptGuard interrupt;
  const bool whole = run_study(
      study, folder, lockstep_program(),
      [&](const StudyProgress& p) {
        if (!options.quiet) show(p, terminal);
      },
      interrupt.flag());
  const StudyResults results = collect_results(study, folder);
  write_results(results, folder);
  write_report({folder}, folder / "report.html", study.title.empty() ? study.name : study.title);
  if (options.json)
    fmt::print("{}", results_json(results));
  else
    print_results(results, folder);
  if (!whole) fmt::print(stderr, "interrupted; the same command continues the study\n");
  for (const PointResult& p : results.points)
    if (p.values.empty() && whole)
      throw Failure("some points could not be run: {}: {}", p.point.label,
                    p.failures.empty() ? "it has no results" : printable(p.failures.front()));
}

}  // namespace

void add_study_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "study", R"(Run a grid of trainings and make its tables, figures and report.

Examples:
  lockstep study --list                         the included published experiments
  lockstep study mpi-mnist-scaling --quick      a small version of one, in minutes
  lockstep study studies/my-study.toml          your own study
)");
  verb->add_option("study", options->study, "a TOML file, or the name of an included study");
  verb->add_flag("--quick", options->quick, "run the small version described under [quick]");
  verb->add_option("--set", options->changes, "change a key of every point: key=value")
      ->type_name("KEY=VALUE");
  verb->add_option("--out", options->out, "folder (default: runs/<name>)");
  verb->add_flag("--force", options->force,
                 "start over: remove this study's points and results in the folder first");
  verb->add_flag("--list", options->list, "list the included studies");
  verb->add_flag("--json", options->json, "print results.json instead of a table");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { study(*options); });
}

}  // namespace lockstep
