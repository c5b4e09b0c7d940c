#include "train/record/run_claim.h"

#include <array>
#include <vector>

#include "base/error.h"
#include "train/record/event_file.h"

namespace lockstep {
namespace {

constexpr int most_runs = 100'000;  // with the same name

// Files and folders that a run, a cross-validation or a sweep writes, by name, so that nothing else
// in a folder is ever removed.
constexpr std::array run_files = {"config.toml", "metrics.jsonl", "summary.json",
                                  "trace.json",  "model",         "checkpoints",
                                  "folds",       "queue",         "sweep.jsonl"};

std::vector<fs::path> point_folders(const fs::path& folder) {
  std::vector<fs::path> points;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(point_folder_start) &&
        fs::exists(entry.path() / "config.toml"))
      points.push_back(entry.path());
  return points;
}

// Makes the link under another name and renames it, so that runs/latest always exists.
void link_latest(const fs::path& run) {
  const fs::path link = latest_link(), aside = runs_folder() / ".latest.new";
  std::error_code error;
  if (fs::exists(fs::symlink_status(link)) && !fs::is_symlink(link)) return;  // a run of that name
  fs::remove(aside, error);
  fs::create_symlink(run.filename(), aside, error);
  if (!error) fs::rename(aside, link, error);
  // Errors are ignored: on a file system without links there is no runs/latest.
}

bool is_among_runs(const fs::path& run) {
  std::error_code error;
  return fs::equivalent(run.has_parent_path() ? run.parent_path() : ".", runs_folder(), error);
}

fs::path made_fresh(const std::string& name) {
  make_folder(runs_folder());
  for (int number = 1; number <= most_runs; ++number) {
    const fs::path path = runs_folder() / (number == 1 ? name : fmt::format("{}-{}", name, number));
    std::error_code error;
    if (fs::create_directory(path, error)) return path;
    if (error) throw Failure("cannot make the folder {}: {}", path.string(), error.message());
  }
  throw UserError("{} holds {} runs named {}; remove some with 'lockstep runs rm'",
                  runs_folder().string(), most_runs, name);
}

// Writing through a link would change files outside the run.
void expect_no_links(const fs::path& folder) {
  for (const char* name : run_files)
    if (fs::is_symlink(folder / name))
      throw UserError("{} is a symbolic link; a run writes into its own folder only: remove it",
                      (folder / name).string());
}

UserError holds_a_run(const std::string& folder) {
  return UserError(
      "{} already holds a run; resume it (--resume {}), replace it (--force), or choose "
      "another folder with --out",
      folder, folder);
}

}  // namespace

const fs::path& runs_folder() {
  static const fs::path folder = "runs";
  return folder;
}

fs::path latest_link() { return runs_folder() / "latest"; }

fs::path run_or_latest(const std::string& given) {
  if (!given.empty()) return given;
  if (!fs::exists(latest_link()))
    throw UserError("name the folder of a run: there is no {} here", latest_link().string());
  std::error_code error;
  const fs::path target = fs::read_symlink(latest_link(), error);
  return error ? latest_link() : runs_folder() / target;
}

bool holds_run(const fs::path& folder) {
  for (const char* name : run_files)
    if (fs::exists(fs::symlink_status(folder / name))) return true;
  return !point_folders(folder).empty();
}

void expect_free(const std::string& out, bool force) {
  if (out.empty() || force || !holds_run(out)) return;
  if (FolderLock::is_held(out))
    throw UserError("{} is being written by another run; choose another folder with --out", out);
  throw holds_a_run(out);
}

void remove_run_files(const fs::path& folder) {
  std::error_code error;
  const auto remove = [&](const fs::path& path) {
    fs::remove_all(path, error);
    if (error) throw Failure("cannot remove {}: {}", path.string(), error.message());
  };
  for (const char* name : run_files) remove(folder / name);
  for (const fs::path& point : point_folders(folder)) remove(point);
  for (const auto& file : fs::directory_iterator(folder))
    if (EventFile::is_event_file(file.path())) remove(file.path());
}

RunClaim RunClaim::for_new(const std::string& name, const std::string& out, bool force) {
  if (!out.empty()) make_folder(out);
  RunClaim claim(out.empty() ? made_fresh(name) : fs::path(out));
  expect_no_links(claim.path());
  if (!force && holds_run(claim.path())) throw holds_a_run(out);  // the folder is locked now
  if (force) remove_run_files(claim.path());
  if (is_among_runs(claim.path())) link_latest(claim.path());
  return claim;
}

RunClaim RunClaim::for_resumed(const fs::path& folder) {
  RunClaim claim(folder);
  expect_no_links(folder);
  return claim;
}

RunClaim::~RunClaim() {
  if (path_.empty()) return;  // moved from
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(path_, ignored))
    if (entry.path().filename() != FolderLock::file_name) return;
  fs::remove_all(path_, ignored);
}

}  // namespace lockstep
