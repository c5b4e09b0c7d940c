#pragma once

#include <string>

#include "os/folder_lock.h"

namespace lockstep {

// The folder of a run: locked, and without results of other runs.
class RunClaim {
 public:
  // For a new run. Without `out`, makes a new folder: runs/<name>, runs/<name>-2, ... With `out`,
  // throws a UserError if the folder holds a run, or removes that run with `force`.
  static RunClaim for_new(const std::string& name, const std::string& out, bool force);
  // For a run or sweep that is resumed.
  static RunClaim for_resumed(const fs::path& folder);

  RunClaim(RunClaim&&) noexcept = default;
  ~RunClaim();  // removes the folder if nothing was written to it

  const fs::path& path() const { return path_; }

 private:
  explicit RunClaim(const fs::path& path) : path_(path), lock_(path) {}

  fs::path path_;
  FolderLock lock_;
};

// Every point of a simulation has its own folder, whose name starts with this.
constexpr const char* point_folder_start = "ranks-";

// Whether a folder holds files of a run, a cross-validation or a simulation.
bool holds_run(const fs::path& folder);
// Throws the error of RunClaim::for_new early, before ranks are started.
void expect_free(const std::string& out, bool force);
// Removes the files of a run, and nothing else.
void remove_run_files(const fs::path& folder);

const fs::path& runs_folder();  // runs
fs::path latest_link();         // runs/latest, a link to the newest run there
// `given`, or the run that runs/latest links to if `given` is empty.
fs::path run_or_latest(const std::string& given);

}  // namespace lockstep
