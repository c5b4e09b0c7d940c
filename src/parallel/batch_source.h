#pragma once

#include <vector>

#include "tensor/kernel.h"

namespace lockstep {

// Samples of a step that pass through the network at once.
struct MicroBatch {
  int64_t rows = 0;
  Input input{nullptr};
  Targets targets;
  SampleKeys keys;
};

// What a rank has to do in a step.
struct StepShare {
  int64_t mine = 0, all = 0;    // samples: of this rank, of all ranks
  std::vector<int64_t> shards;  // whose sum is `mine`; gradients of each are summed separately
};

// The samples of one epoch as one rank gets them.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t steps() const = 0;                       // the same on every rank
  virtual const StepShare& share(int64_t step) const = 0;  // from 0
  virtual MicroBatch next() = 0;                           // of the shards, in order
};

}  // namespace lockstep
