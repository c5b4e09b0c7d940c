#pragma once

#include "data/load.h"
#include "train/replica.h"

namespace lockstep {

// A few micro-batches in memory, for steps without I/O.
struct HeldBatches {
  std::string provenance;
  Shape shape;
  int64_t classes = 0;
  bool sparse = false;
  int64_t samples = 0;      // of the whole training part
  int64_t rows = 0;         // per step and rank
  int64_t micro_batch = 0;  // rows per element of `batches`
  std::vector<Batch> batches;

  SampleForm form() const { return {shape, classes, sparse, provenance}; }
};

// Real samples: the speed of sparse kernels depends on the data. `rows`: per step and rank, in
// micro-batches as the configuration says.
HeldBatches real_batches(const RunConfig& config, const DataSplits& data, int64_t rows);
// One micro-batch per step.
HeldBatches real_micro_batches(const RunConfig& config, const DataSplits& data, int64_t rows);
// Noise of a given shape, for networks without a data set.
HeldBatches noise_batches(const RunConfig& config, const Shape& shape);

}  // namespace lockstep
