#pragma once

#include <string>

#include "data/load.h"
#include "train/record/run_folder.h"

namespace lockstep {

// A trained network: of the folder, or where it is empty of the newest run (runs/latest). Says on
// stderr what it took and what could not be checked.
SavedRun open_run(const std::string& folder);
// Says on stderr that a model came without digests.
void note_unchecked(const fs::path& folder);

// Data to show to a trained network, normalised as its training data were.
struct SavedData {
  DataSplits splits;
  const Dataset* part = nullptr;
};

// `name`: a data set, or empty for the run's own.
SavedData load_for(const SavedRun& run, const std::string& name, SplitPart split);

}  // namespace lockstep
