#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/part.h"

namespace lockstep {

// Which rank sees which samples, and when. A step works through one global batch, of which each
// rank has a share; shares differ by one sample at most, and may be empty at an epoch's end.
//
//   shuffled    the whole set is shuffled each epoch and cut into global batches: what one rank
//               would see, cut among all
//   contiguous  rank r keeps the r-th part of the set and shuffles within it
//   strided     rank r keeps samples r, r + ranks, r + 2 ranks, ... and shuffles within them
class Partition {
 public:
  // `batch`: samples of a global batch; as many as there are samples or more means all at once.
  Partition(Parts parts, int64_t samples, int64_t batch, int64_t ranks, uint64_t seed);

  int64_t steps() const { return steps_; }  // of an epoch, on every rank
  int64_t rows_of(int64_t step, int64_t rank) const;
  int64_t rows_of(int64_t step) const;  // of all ranks
  // The samples of a rank in this epoch, step after step.
  std::vector<int64_t> samples_of(int64_t epoch, int64_t rank) const;

 private:
  int64_t owned(int64_t rank) const;                                    // of own parts
  int64_t own_batch() const { return (batch_ + ranks_ - 1) / ranks_; }  // the same on each rank

  Parts parts_;
  int64_t samples_, batch_, ranks_, steps_ = 0;
  uint64_t seed_;
};

}  // namespace lockstep
