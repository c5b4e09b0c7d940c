#pragma once

#include <string>

#include "data/load.h"
#include "train/record/run_folder.h"

namespace lockstep {

// Opens the trained network in `folder`; empty: the newest run (runs/latest), whose name is printed
// on stderr, as is a note if the model has no digests.
SavedRun open_run(const std::string& folder);
// Prints on stderr that a model could not be checked because it has no digests.
void note_unchecked(const fs::path& folder);

// Data for a trained network, normalised like its training data.
struct SavedData {
  DataSplits splits;
  const Dataset* part = nullptr;
};

// `name`: a data set, for language models a text file; empty: the run's own data.
SavedData load_for(const SavedRun& run, const std::string& name, SplitPart split);

}  // namespace lockstep
