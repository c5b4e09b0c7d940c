#include "study/output/report_sources.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "study/study_folder.h"

namespace lockstep {
namespace {

constexpr int deepest = 3;

class Reader {
 public:
  ReportSources read(const std::vector<fs::path>& folders) {
    for (const fs::path& folder : folders)
      guarded(folder, [&] {
        if (!add(folder, folder, 0)) all_.skipped.push_back(no_run(folder));
      });
    name_apart();
    return std::move(all_);
  }

 private:
  static std::string no_run(const fs::path& folder) {
    if (!fs::exists(folder)) return folder.string() + " does not exist";
    return folder.string() + " has no summary.json: not a run folder, or a run that has not ended";
  }

  // One damaged folder does not keep the others out of the report.
  template <typename Read>
  void guarded(const fs::path& folder, Read read) {
    try {
      read();
    } catch (const UserError& error) {  // its message names the file
      all_.skipped.emplace_back(error.what());
    } catch (const std::exception& error) {
      all_.skipped.push_back(folder.string() + ": " + error.what());
    }
  }

  // Whether the folder holds a run or a study. `named`: the folder that the user named.
  bool add(const fs::path& folder, const fs::path& named, int depth) {
    if (!fs::is_directory(folder)) return false;
    const bool is_study = is_study_folder(folder), is_run = fs::exists(folder / "summary.json");
    if ((is_study || is_run) && !seen_.insert(fs::canonical(folder)).second) return true;
    if (is_study) {
      StudyResults results = collect_results(load_study(folder), folder);
      for (const PointResult& p : results.points)
        for (const RunRecord& run : p.runs)
          if (seen_.insert(fs::canonical(run.path)).second) all_.runs.push_back(run);
      all_.studies.push_back(std::move(results));
      return true;
    }
    if (is_run) {
      RunRecord run = read_run_record(folder);
      if (depth > 0) run.name = fs::relative(folder, named).string();
      all_.runs.push_back(std::move(run));
      return true;
    }
    if (depth > 0 && fs::exists(folder / "config.toml")) {
      all_.skipped.push_back(no_run(folder));
      return true;
    }
    return depth < deepest && add_inner(folder, named, depth);
  }

  bool add_inner(const fs::path& folder, const fs::path& named, int depth) {
    std::vector<fs::path> inner;
    for (const auto& entry : fs::directory_iterator(folder))
      if (!entry.is_symlink() && entry.is_directory()) inner.push_back(entry.path());
    std::sort(inner.begin(), inner.end());
    bool found = false;
    for (const fs::path& one : inner)
      guarded(one, [&] { found = add(one, named, depth + 1) || found; });
    return found;
  }

  // Runs with the same name are named by their paths.
  void name_apart() {
    std::map<std::string, int> times;
    for (const RunRecord& run : all_.runs) ++times[run.name];
    for (RunRecord& run : all_.runs)
      if (times[run.name] > 1) run.name = run.path.lexically_normal().string();
  }

  ReportSources all_;
  std::set<fs::path> seen_;
};

}  // namespace

ReportSources read_sources(const std::vector<fs::path>& folders) { return Reader().read(folders); }

}  // namespace lockstep
