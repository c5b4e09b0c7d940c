#include "train/record/run_list.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/strict_json.h"
#include "os/digests.h"
#include "os/folder_lock.h"
#include "train/record/run_claim.h"
#include "train/record/run_folder.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

constexpr int deepest_json = 16;

std::string date_text(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts)};
}

// Adds up file sizes and finds the newest change. Links are not followed: they may lead anywhere.
void measure(const fs::path& folder, int64_t& bytes, std::time_t& newest) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat info {};
    if (::lstat(at->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    bytes += info.st_size;
    newest = std::max(newest, info.st_mtime);
  }
}

std::optional<FolderKind> kind_of(const fs::path& folder) {
  if (fs::exists(folder / "study.toml")) return FolderKind::study;
  if (!holds_run(folder)) return std::nullopt;
  if (fs::exists(folder / "folds")) return FolderKind::cross_validation;
  return fs::exists(folder / "config.toml") ? FolderKind::training : FolderKind::simulation;
}

std::string text_in(const Json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

void read_summary(const fs::path& folder, ListedRun& run) {
  const fs::path path = folder / "summary.json";
  if (!fs::exists(path)) {
    if (run.kind == FolderKind::training || run.kind == FolderKind::cross_validation)
      run.state = "unfinished";
    return;
  }
  try {
    const Json json = parse_object<Json>(read_text(path), path.string(), deepest_json);
    run.state = text_in(json, "ending");
    if (json.contains("loss_rose")) run.state += ", loss rose";
    if (json.contains("simulated")) run.kind = FolderKind::simulation;
  } catch (const std::exception&) {
    run.state = "damaged";
  }
}

class Verification {
 public:
  explicit Verification(const fs::path& run) : run_(run) {}

  std::vector<VerifiedFile> all() {
    config();
    metrics();
    summary();
    folder("model");
    std::error_code ignored;
    std::vector<std::string> steps;
    for (const auto& entry : fs::directory_iterator(run_ / "checkpoints", ignored))
      if (entry.is_directory()) steps.push_back("checkpoints/" + entry.path().filename().string());
    std::ranges::sort(steps);
    for (const std::string& step : steps) folder(step);
    return std::move(files_);
  }

 private:
  // Runs `check`, which returns a description or throws if the file is damaged.
  template <typename Check>
  void look(const std::string& file, Check check) {
    try {
      files_.push_back({file, false, check()});
    } catch (const std::exception& error) {
      files_.push_back({file, true, error.what()});
    }
  }

  void expect_own(const std::string& run) const {
    if (!identifier_.empty() && run != identifier_)
      throw UserError("it belongs to run {}, but config.toml to run {}", run, identifier_);
  }

  void config() {
    look("config.toml", [&]() -> std::string {
      const std::string text = read_text(run_ / "config.toml");
      parse_config(text, "config.toml");
      identifier_ = run_of_config(text);
      return identifier_.empty() ? "valid, no identifier (written by lockstep 0.1.0)"
                                 : "valid, run " + identifier_;
    });
  }

  void metrics() {
    if (!fs::exists(run_ / "metrics.jsonl")) return;
    look("metrics.jsonl", [&] {
      std::istringstream lines(read_text(run_ / "metrics.jsonl"));
      int64_t count = 0;
      for (std::string line; std::getline(lines, line);) {
        ++count;
        const Json json = parse_object<Json>(line, fmt::format("line {}", count), deepest_json);
        if (json.contains("run")) expect_own(text_in(json, "run"));
      }
      return fmt::format("{} complete lines", count);
    });
  }

  void summary() {
    if (!fs::exists(run_ / "summary.json")) return;
    look("summary.json", [&] {
      const Json json =
          parse_object<Json>(read_text(run_ / "summary.json"), "summary.json", deepest_json);
      return text_in(json, "ending");
    });
  }

  void folder(const std::string& name) {
    const fs::path path = run_ / name;
    std::error_code ignored;
    std::vector<std::string> there;
    for (const auto& entry : fs::directory_iterator(path, ignored))
      if (entry.path().filename() != digests_file)
        there.push_back(entry.path().filename().string());
    std::ranges::sort(there);
    std::optional<Digests> digests;
    if (fs::exists(digests_path(path)))
      look(name + "/digests.txt", [&] {
        digests = read_digests(path);
        expect_own(digests->run);
        return fmt::format("{} digests", digests->files.size());
      });
    if (digests)
      for (const auto& [file, digest] : digests->files)
        if (std::ranges::find(there, file) == there.end()) there.push_back(file);  // missing
    for (const std::string& file : there)
      look(name + "/" + file,
           [&] { return expect_undamaged(path / file) ? "matches its digest" : "has no digest"; });
  }

  fs::path run_;
  std::string identifier_;
  std::vector<VerifiedFile> files_;
};

}  // namespace

std::vector<ListedRun> list_runs(const fs::path& folder) {
  std::vector<std::pair<std::time_t, ListedRun>> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.is_symlink() || !entry.is_directory()) continue;
    const auto kind = kind_of(entry.path());
    if (!kind) continue;
    ListedRun run{.name = entry.path().filename().string(), .kind = *kind};
    read_summary(entry.path(), run);
    run.running = FolderLock::is_held(entry.path());
    if (run.running) run.state = "running";
    std::time_t newest = 0;
    measure(entry.path(), run.bytes, newest);
    run.date = date_text(newest);
    found.emplace_back(newest, std::move(run));
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) {
    return std::pair(-a.first, a.second.name) < std::pair(-b.first, b.second.name);
  });
  std::vector<ListedRun> runs;
  for (auto& [time, run] : found) runs.push_back(std::move(run));
  return runs;
}

std::vector<VerifiedFile> verify_run(const fs::path& run) {
  if (!fs::exists(run / "config.toml"))
    throw UserError("{} is not a run folder: it has no config.toml", run.string());
  return Verification(run).all();
}

}  // namespace lockstep
