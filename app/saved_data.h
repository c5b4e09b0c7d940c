#pragma once

#include <string>

#include "data/load.h"
#include "train/run_folder.h"

namespace lockstep {

// Data to show to a trained network, normalised as its training data were.
struct SavedData {
  DataSplits splits;
  const Dataset* part = nullptr;
};

// `name`: a data set, or empty for the run's own; `split`: train, validation or test.
SavedData load_for(const SavedRun& run, const std::string& name, const std::string& split);

}  // namespace lockstep
