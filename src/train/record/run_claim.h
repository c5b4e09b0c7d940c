#pragma once

#include <string>

#include "os/folder_lock.h"

namespace lockstep {

// The folder that a run writes: locked, and holding no other run's results.
class RunClaim {
 public:
  // A new run. Without `out` it gets a folder that was not there: runs/<name>, runs/<name>-2, ...;
  // with it, an earlier run in that folder is a UserError, or is removed with `force`.
  static RunClaim for_new(const std::string& name, const std::string& out, bool force);
  // A run or sweep that goes on in its own folder.
  static RunClaim for_resumed(const fs::path& folder);

  RunClaim(RunClaim&&) noexcept = default;
  ~RunClaim();  // a folder in which nothing was written is removed

  const fs::path& path() const { return path_; }

 private:
  explicit RunClaim(const fs::path& path) : path_(path), lock_(path) {}

  fs::path path_;
  FolderLock lock_;
};

// Points of a simulation are folders of their own, whose names start like this.
constexpr const char* point_folder_start = "ranks-";

// Whether a folder holds what a run, a cross-validation or a simulation left behind.
bool holds_run(const fs::path& folder);
// The error of RunClaim::for_new, before anything is started.
void expect_free(const std::string& out, bool force);
// Removes what a run wrote, and nothing else.
void remove_run_files(const fs::path& folder);

const fs::path& runs_folder();  // runs
fs::path latest_link();         // runs/latest, a link to the newest run there
// `given`, or where it is empty the run that runs/latest links to.
fs::path run_or_latest(const std::string& given);

}  // namespace lockstep
