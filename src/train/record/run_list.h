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

// A run folder as 'lockstep runs' shows it.
struct ListedRun {
  std::string name;  // of the folder
  FolderKind kind = FolderKind::training;
  bool running = false;
  std::string state;  // running, unfinished, damaged, or the ending in its summary
  std::string date;   // of its newest file: 2026-11-18 01:12
  int64_t bytes = 0;  // of all files in it
};

// Runs in `folder`, newest first; other folders are left out.
std::vector<ListedRun> list_runs(const fs::path& folder);

// Result of 'lockstep verify' for one file.
struct VerifiedFile {
  std::string file;  // relative to the run
  bool damaged = false;
  std::string found;  // in words
};

// Parses the configuration, metrics and summary of a run, compares the files of models and
// checkpoints with their digests, and checks that all belong to one run.
std::vector<VerifiedFile> verify_run(const fs::path& run);

}  // namespace lockstep
