#include <fmt/format.h>
#include <unistd.h>

#include <memory>

#include "base/error.h"
#include "base/names.h"
#include "job/interrupt.h"
#include "os/program.h"
#include "report/numbers.h"
#include "study/output/artifact.h"
#include "study/output/report_file.h"
#include "study/output/tables.h"
#include "study/results/claims.h"
#include "study/runner.h"
#include "study/shipped_studies.h"
#include "study/study_folder.h"
#include "text.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::string study, out;
  std::vector<std::string> changes;
  bool quick = false, json = false, list = false, quiet = false, force = false, all = false,
       check = false;
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

std::string command_of(const Options& options, const std::string& study) {
  std::string command = "lockstep study " + study;
  if (options.quick) command += " --quick";
  for (const std::string& change : options.changes) command += " --set '" + change + "'";
  return command;
}

struct Finished {
  StudyResults results;
  bool whole = true;   // false: interrupted
  std::string failed;  // what could not be run; "": nothing
};

// Runs what is missing of a study, and writes its folder.
Finished run(const Options& options, const std::string& name, const fs::path& folder,
             const std::atomic<bool>& stop) {
  const std::string text = find_study(name);
  Study study = parse_study(text, name, options.quick);
  if (study.name.empty()) {
    study.name = fs::path(name).stem().string();
    expect_name(study.name, name);
  }
  // Configuration files may lie beside the study's file.
  for (StudyPoint& point : study.points) {
    const fs::path beside = fs::path(name).parent_path() / point.config;
    if (!fs::exists(point.config) && fs::is_regular_file(beside)) point.config = beside.string();
  }
  change_points(study, options.changes);
  const fs::path place =
      !folder.empty() ? folder : fs::path("runs") / (study.name + (options.quick ? "-quick" : ""));
  if (options.force) remove_results(study, place);
  save_origin({text, options.quick, options.changes}, place);
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  Finished done{.results = {}};
  done.whole = run_study(
      study, place, lockstep_program(),
      [&](const StudyProgress& p) {
        if (!options.quiet) show(p, terminal);
      },
      stop);
  done.results = collect_results(study, place);
  const std::string title = study.title.empty() ? study.name : study.title;
  write_results(done.results, place);
  write_report({place}, place / "report.html", title);
  write_artifact_description({done.results}, place, title, command_of(options, name));
  for (const PointResult& p : done.results.points)
    if (p.values.empty() && done.whole && done.failed.empty())
      done.failed = fmt::format("{}: {}", p.point.label,
                                p.failures.empty() ? "it has no results" : p.failures.front());
  return done;
}

// --check: prints the claims. Returns how many do not hold.
int64_t print_claims(const std::vector<StudyResults>& studies, bool json) {
  int64_t wrong = 0, all = 0;
  for (const StudyResults& results : studies)
    for (const TestedClaim& test : test_claims(results)) {
      wrong += test.verdict == Verdict::differs;
      ++all;
    }
  if (json) {
    fmt::print("{}", claims_json(studies));
    return wrong;
  }
  const Table made = claims_table(studies);
  std::vector<std::vector<std::string>> rows = {made.head};
  rows.insert(rows.end(), made.rows.begin(), made.rows.end());
  fmt::print("{}\n{}\n{} of {} claims do not hold.\n", table(rows), printable(made.note), wrong,
             all);
  return wrong;
}

void expect_claims_hold(const Options& options, const std::vector<StudyResults>& studies) {
  if (!options.check) return;
  if (const int64_t wrong = print_claims(studies, options.json); wrong > 0)
    throw Failure("{} of the documents {} not hold here", plural(wrong, "claim"),
                  wrong == 1 ? "does" : "do");
}

void study_one(const Options& options) {
  const InterruptGuard interrupt;
  const Finished done = run(options, options.study, options.out, interrupt.flag());
  const fs::path folder =
      options.out.empty()
          ? fs::path("runs") / (done.results.study.name + (options.quick ? "-quick" : ""))
          : fs::path(options.out);
  if (options.check) {
    if (done.whole && done.failed.empty()) return expect_claims_hold(options, {done.results});
  } else if (options.json) {
    fmt::print("{}", results_json(done.results));
  } else {
    print_results(done.results, folder);
  }
  if (!done.whole) fmt::print(stderr, "interrupted; the same command continues the study\n");
  if (!done.failed.empty())
    throw Failure("some points could not be run: {}", printable(done.failed));
}

// --all: every included study, and one report of them.
void study_all(const Options& options) {
  const InterruptGuard interrupt;
  const fs::path out = options.out.empty()
                           ? fs::path("runs") / (options.quick ? "studies-quick" : "studies")
                           : fs::path(options.out);
  std::vector<StudyResults> all;
  std::vector<fs::path> folders;
  std::vector<std::string> failed;
  for (const ShippedStudy& shipped : shipped_studies()) {
    if (!options.quiet) fmt::print(stderr, "{}\n", shipped.name);
    Finished done = run(options, shipped.name, out / shipped.name, interrupt.flag());
    if (!done.whole) {
      fmt::print(stderr, "interrupted; the same command continues\n");
      return;
    }
    if (!done.failed.empty()) failed.push_back(shipped.name + ": " + done.failed);
    all.push_back(std::move(done.results));
    folders.push_back(out / shipped.name);
  }
  const std::string title = "The published experiments";
  write_claims(all, out);
  write_report(folders, out / "report.html", title);
  write_artifact_description(all, out, title, command_of(options, "--all"));
  if (!options.check) {
    print_claims(all, options.json);
    if (!options.json)
      fmt::print("report.html and the studies are in {}\n", printable(out.string()));
  }
  if (!failed.empty()) throw Failure("some points could not be run: {}", printable(failed.front()));
  expect_claims_hold(options, all);
}

void study(const Options& options) {
  if (options.list) return list_studies();
  if (options.all) {
    if (!options.study.empty())
      throw UserError("--all runs every included study; leave out '{}'", printable(options.study));
    return study_all(options);
  }
  if (options.study.empty())
    throw UserError("name a study: a TOML file, or one of 'lockstep study --list'");
  study_one(options);
}

}  // namespace

void add_study_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "study", R"(Run a grid of trainings and make its tables, figures and report.

Examples:
  lockstep study --list                         the included published experiments
  lockstep study mpi-mnist-scaling --quick      a small version of one, in minutes
  lockstep study --all --quick                  small versions of all, in minutes, and one report
  lockstep study iris-variants --check          which claims of the document hold
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
  verb->add_flag("--all", options->all, "run every included study and report on them together");
  verb->add_flag("--check", options->check,
                 "print which claims of the documents hold; exit code 1 if one does not");
  verb->add_flag("--json", options->json,
                 "print results.json instead of a table (--check, --all: claims.json)");
  verb->add_flag("--quiet", options->quiet, "no progress");
  verb->callback([options] { study(*options); });
}

}  // namespace lockstep
