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

// The samples of a step that one rank trains on.
struct StepShare {
  int64_t mine = 0, all = 0;    // number of samples: of this rank, of all ranks
  std::vector<int64_t> shards;  // samples per shard, whose gradients are computed separately
};

// Supplies one rank with its samples of one epoch.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual int64_t steps() const = 0;                       // the same on every rank
  virtual const StepShare& share(int64_t step) const = 0;  // step from 0
  virtual MicroBatch next() = 0;                           // shard by shard, in order
  // next() starts again with the first micro-batch of this step, the present or the last one.
  virtual void repeat(int64_t step) = 0;
  // next() goes on with the micro-batches of this shard of the step. Only for strategies that deal
  // portions (see StrategyTraits), whose shares have all shards of all ranks.
  virtual void choose(int64_t step, int64_t shard) = 0;
};

}  // namespace lockstep
