#pragma once

#include "data/load.h"
#include "train/replica.h"

namespace lockstep {

// What is trained on where no I/O is to be measured: a few micro-batches held in memory.
struct HeldBatches {
  std::string provenance;
  Shape shape;
  int64_t classes = 0;
  bool sparse = false;
  int64_t samples = 0;      // of the whole training part
  int64_t rows = 0;         // per step and rank
  int64_t micro_batch = 0;  // rows of a batch
  std::vector<Batch> batches;

  SampleForm form() const { return {shape, classes, sparse, provenance}; }
};

// Real samples: sparse kernels are as fast as the data let them. `rows`: per step and rank.
HeldBatches real_batches(const RunConfig& config, const DataSplits& data, int64_t rows);
// Noise of a given shape, for networks that no data set fits.
HeldBatches noise_batches(const RunConfig& config, const Shape& shape);

}  // namespace lockstep
