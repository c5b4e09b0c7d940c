#pragma once

#include "data/load.h"
#include "train/run_config.h"

namespace lockstep {

// What is trained on where no I/O is to be measured: a few batches held in memory. A step's rows
// are worked through in pieces, as in training.
struct Held {
  std::string provenance;
  Shape shape;
  int64_t classes = 0;
  bool sparse = false;
  int64_t samples = 0;  // of the whole training part
  int64_t rows = 0;     // a step and rank
  int64_t piece = 0;    // rows of a batch
  std::vector<Batch> batches;
};

// Real samples: sparse kernels are as fast as the data let them. `rows`: of a step and rank.
Held real_batches(const RunConfig& config, const DataSplits& data, int64_t rows);
// Noise of a given shape, for networks that no data set fits.
Held noise_batches(const RunConfig& config, const Shape& shape);

}  // namespace lockstep
