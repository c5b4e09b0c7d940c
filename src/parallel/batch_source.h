#pragma once

#include <vector>

#include "tensor/kernel.h"

namespace lockstep {

// A few samples of a step.
struct Piece {
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
  virtual Piece next() = 0;                                // pieces of the shards, in order
};

}  // namespace lockstep
