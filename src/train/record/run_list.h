#pragma once

#include <string>
#include <vector>

#include "base/enum_text.h"
#include "os/files.h"

namespace lockstep {

enum class FolderKind { training, cross_validation, simulation, study };
template <>
inline constexpr auto enum_texts<FolderKind> =
    std::array{"training", "cross-validation", "simulation", "study"};

// A folder among the runs, as 'lockstep runs' shows it.
struct ListedRun {
  std::string name;  // of the folder
  FolderKind kind = FolderKind::training;
  bool running = false;
  std::string state;  // running, unfinished, damaged, or as its summary says
  std::string date;   // of its newest file: 2026-11-18 01:12
  int64_t bytes = 0;  // of all files in it
};

// Runs in `folder`, newest first; what is none of ours is left out.
std::vector<ListedRun> list_runs(const fs::path& folder);

// What 'lockstep verify' found of one file.
struct VerifiedFile {
  std::string file;  // relative to the run
  bool damaged = false;
  std::string found;  // in words
};

// Compares all files of a run with their digests, reads what can be read, and checks that they are
// of one run.
std::vector<VerifiedFile> verify_run(const fs::path& run);

}  // namespace lockstep
