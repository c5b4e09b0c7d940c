#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "os/folder_lock.h"
#include "text.h"
#include "train/record/run_claim.h"
#include "train/record/run_list.h"
#include "verbs/verbs.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> names;  // to remove
  std::string run;                 // to verify
  bool json = false, yes = false;
};

void list(const Options& options) {
  const std::vector<ListedRun> runs = list_runs(runs_folder());
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {{"run", "kind", "state", "date (UTC)", "MB"}};
  for (const ListedRun& run : runs) {
    rows.push_back({printable(run.name), to_text(run.kind), printable(run.state), run.date,
                    fmt::format("{:.1f}", static_cast<double>(run.bytes) / 1e6)});
    json.push_back({{"name", run.name},
                    {"kind", to_text(run.kind)},
                    {"state", run.state},
                    {"date", run.date},
                    {"bytes", run.bytes}});
  }
  if (options.json)
    fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
  else if (runs.empty())
    fmt::print("no runs in {}\n", fs::absolute(runs_folder()).string());
  else
    fmt::print("{}", table(rows));
}

bool confirmed(const std::string& question) {
  if (!::isatty(STDIN_FILENO))
    throw UserError("{} There is no terminal to answer; use --yes", question);
  fmt::print(stderr, "{} [y/N] ", question);
  std::string answer;
  std::getline(std::cin, answer);
  constexpr std::array yes = {"y", "Y", "yes"};
  return std::ranges::find(yes, answer) != yes.end();
}

void remove(const Options& options) {
  const std::vector<ListedRun> runs = list_runs(runs_folder());
  std::vector<std::string> known;
  for (const ListedRun& run : runs) known.push_back(run.name);
  double bytes = 0;
  std::vector<std::string> names;
  for (std::string name : options.names) {
    if (name.starts_with("runs/")) name = name.substr(5);
    while (name.ends_with('/')) name.pop_back();
    const auto found =
        std::ranges::find_if(runs, [&](const ListedRun& run) { return run.name == name; });
    if (found == runs.end())
      throw UserError("there is no run '{}' in {}; {}", printable(name), runs_folder().string(),
                      suggestion(name, known));
    if (found->running)
      throw UserError("{} is being written; wait for it to end, or stop it first", name);
    bytes += static_cast<double>(found->bytes);
    names.push_back(name);
  }
  if (!options.yes &&
      !confirmed(fmt::format("Remove {} ({:.1f} MB)?", fmt::join(names, ", "), bytes / 1e6)))
    return;
  for (const std::string& name : names) {
    std::error_code error;
    fs::remove_all(runs_folder() / name, error);
    if (error) throw Failure("cannot remove {}: {}", name, error.message());
    fmt::print("removed {}\n", (runs_folder() / name).string());
  }
  if (!fs::exists(latest_link())) {  // it points to a removed run
    std::error_code ignored;
    fs::remove(latest_link(), ignored);
  }
}

void verify(const Options& options) {
  const fs::path run = run_or_latest(options.run);
  int damaged = 0;
  Json json = Json::array();
  std::vector<std::vector<std::string>> rows = {{"file", "", "found"}};
  for (const VerifiedFile& file : verify_run(run)) {
    damaged += file.damaged;
    rows.push_back({file.file, file.damaged ? "DAMAGED" : "ok", printable(file.found)});
    json.push_back({{"file", file.file}, {"damaged", file.damaged}, {"found", file.found}});
  }
  if (options.json)
    fmt::print("{}\n", Json{{"run", run.string()}, {"damaged", damaged}, {"files", json}}.dump(
                           2, ' ', false, Json::error_handler_t::replace));
  else
    fmt::print("{}", table(rows));
  if (damaged > 0)
    throw Failure("{}: {} of {} files damaged", run.string(), damaged, rows.size() - 1);
}

}  // namespace

void add_runs_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("runs", R"(List the runs in the folder runs, or remove some.

Examples:
  lockstep runs
  lockstep runs rm cnn-690k-2             asks for confirmation
  lockstep runs rm cnn-690k cnn-690k-2 --yes
)");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  CLI::App* rm = verb->add_subcommand("rm", "Remove runs, with all their files.");
  rm->add_option("names", options->names, "names of runs")->required();
  rm->add_flag("--yes", options->yes, "do not ask for confirmation");
  rm->callback([options] { remove(*options); });
  verb->callback([options, rm] {
    if (!rm->parsed()) list(*options);
  });
}

void add_verify_verb(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("verify", R"(Check all files of a run against their digests.

Examples:
  lockstep verify runs/cnn-690k
  lockstep verify                         the newest run
)");
  verb->add_option("run", options->run, "folder of the run (default: runs/latest)");
  verb->add_flag("--json", options->json, "print JSON instead of a table");
  verb->callback([options] { verify(*options); });
}

}  // namespace lockstep
