#pragma once

#include "study/results/results.h"

namespace lockstep {

// The runs and studies of a report.
struct ReportSources {
  std::vector<StudyResults> studies;
  std::vector<RunRecord> runs;       // including those of the studies
  std::vector<std::string> skipped;  // what could not be read, and why
};

// Reads run folders, study folders, and folders that contain them up to three levels deep. Symbolic
// links inside folders are not followed. A folder that is named twice is read once.
ReportSources read_sources(const std::vector<fs::path>& folders);

}  // namespace lockstep
