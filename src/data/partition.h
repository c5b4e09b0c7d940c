#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/part.h"

namespace lockstep {

// Which rank sees which samples in which step. A step processes one global batch, of which each
// rank has a share. Shares differ by at most one sample and may be empty at the end of an epoch.
//
//   shuffled    the whole set is shuffled each epoch and cut into the global batches of a run on
//               one rank, which are then cut into shares
//   contiguous  rank r keeps the r-th part of the set and shuffles within it
//   strided     rank r keeps samples r, r + ranks, r + 2 ranks, ... and shuffles within them
class Partition {
 public:
  // `batch`: samples per global batch, limited to `samples`.
  Partition(Parts parts, int64_t samples, int64_t batch, int64_t ranks, uint64_t seed);

  int64_t steps() const { return steps_; }  // per epoch, the same on every rank
  int64_t rows_of(int64_t step, int64_t rank) const;
  int64_t rows_of(int64_t step) const;  // of all ranks
  // The samples of a rank in this epoch, in the order of its steps.
  std::vector<int64_t> samples_of(int64_t epoch, int64_t rank) const;

 private:
  // contiguous and strided: samples that the rank keeps, and samples per rank and step
  int64_t owned(int64_t rank) const;
  int64_t own_batch() const { return (batch_ + ranks_ - 1) / ranks_; }

  Parts parts_;
  int64_t samples_, batch_, ranks_, steps_ = 0;
  uint64_t seed_;
};

}  // namespace lockstep
