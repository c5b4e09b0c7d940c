#include <fmt/format.h>

#include <memory>

#include "base/names.h"
#include "study/output/report_file.h"
#include "train/record/run_claim.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

struct Options {
  std::vector<std::string> folders;
  std::string out = "report.html", title = "Lockstep report";
};

void report(const Options& options) {
  std::vector<fs::path> folders(options.folders.begin(), options.folders.end());
  if (folders.empty()) folders = {run_or_latest("")};
  for (const std::string& skipped : write_report(folders, options.out, options.title))
    fmt::print(stderr, "skipped: {}\n", printable(skipped));
  fmt::print("{}\n", printable(options.out));
}

}  // namespace

void add_report_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "report", R"(Make one page on runs and studies: tables, curves, shares of time.

Examples:
  lockstep report runs/* -o report.html
  lockstep report runs -o report.pdf              all runs below that folder
  lockstep report runs/mpi-mnist-scaling --title "Scaling of our CNN"
  lockstep report runs/* -o table.tex             also .md, .csv; .svg and .png show training loss
)");
  verb->add_option("folders", options->folders,
                   "run folders, study folders, and folders of them (default: runs/latest)");
  verb->add_option("-o,--out", options->out,
                   "the file (default: report.html); its extension selects the format: "
                   ".html .pdf .md .csv .tex .svg .png");
  verb->add_option("--title", options->title, "title of the page");
  verb->callback([options] { report(*options); });
}

}  // namespace lockstep
