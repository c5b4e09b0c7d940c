#pragma once

#include "data/dataset.h"
#include "train/run_config.h"

namespace lockstep {

// What is trained on: a few batches held in memory, so that no I/O is measured.
struct Held {
  std::string provenance;
  Shape shape;
  int64_t classes = 0;
  bool sparse = false;
  std::vector<Batch> batches;
};

// Real samples: sparse kernels are as fast as the data let them.
Held real_batches(const RunConfig& config);
// Noise of a given shape, for networks that no data set fits.
Held noise_batches(const RunConfig& config, const Shape& shape);

}  // namespace lockstep
