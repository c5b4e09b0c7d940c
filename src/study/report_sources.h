#pragma once

#include "study/results.h"

namespace lockstep {

// What a report is about.
struct ReportSources {
  std::vector<StudyResults> studies;
  std::vector<RunRecord> runs;       // those of the studies too
  std::vector<std::string> skipped;  // what could not be read, and why
};

// Reads run folders, study folders, and folders that hold some, three deep. Links inside folders
// are not followed, and a folder that is named twice counts once.
ReportSources read_sources(const std::vector<fs::path>& folders);

}  // namespace lockstep
