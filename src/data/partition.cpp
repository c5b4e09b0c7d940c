#include "data/partition.h"

#include <algorithm>

#include "base/error.h"
#include "data/permutation.h"

namespace lockstep {

Partition::Partition(Parts parts, int64_t samples, int64_t batch, int64_t ranks, uint64_t seed)
    : parts_(parts),
      samples_(samples),
      batch_(std::min(batch, samples)),
      ranks_(ranks),
      seed_(seed) {
  ENSURE(batch_ >= 1 && ranks_ >= 1);
  if (ranks > samples)
    throw UserError("{} ranks cannot share {} training samples; use at most {} ranks", ranks,
                    samples, samples);
  if (batch_ < ranks)
    throw UserError(
        "a global batch of {} samples is too small for {} ranks; use at least {} (train.batch)",
        batch_, ranks, ranks);
  if (parts_ == Parts::shuffled) {
    steps_ = (samples_ + batch_ - 1) / batch_;
  } else {
    const int64_t each = own_batch();
    for (int64_t r = 0; r < ranks_; ++r) steps_ = std::max(steps_, (owned(r) + each - 1) / each);
  }
}

int64_t Partition::owned(int64_t rank) const {
  if (parts_ == Parts::strided) return (samples_ - rank + ranks_ - 1) / ranks_;
  return part_of(samples_, ranks_, rank).size();
}

int64_t Partition::rows_of(int64_t step) const {
  if (parts_ == Parts::shuffled) return std::min(batch_, samples_ - step * batch_);
  int64_t rows = 0;
  for (int64_t r = 0; r < ranks_; ++r) rows += rows_of(step, r);
  return rows;
}

int64_t Partition::rows_of(int64_t step, int64_t rank) const {
  if (parts_ == Parts::shuffled) return part_of(rows_of(step), ranks_, rank).size();
  return std::clamp<int64_t>(owned(rank) - step * own_batch(), 0, own_batch());
}

std::vector<int64_t> Partition::samples_of(int64_t epoch, int64_t rank) const {
  if (parts_ != Parts::shuffled) {
    std::vector<int64_t> rows = epoch_order(owned(rank), seed_, epoch, rank);
    const int64_t first = part_of(samples_, ranks_, rank).begin;
    for (int64_t& row : rows) row = parts_ == Parts::strided ? rank + row * ranks_ : first + row;
    return rows;
  }
  const std::vector<int64_t> order = epoch_order(samples_, seed_, epoch);
  if (ranks_ == 1) return order;
  std::vector<int64_t> rows;
  for (int64_t step = 0; step < steps_; ++step) {
    const Part share = part_of(rows_of(step), ranks_, rank);
    const auto begin = order.begin() + step * batch_;
    rows.insert(rows.end(), begin + share.begin, begin + share.end);
  }
  return rows;
}

}  // namespace lockstep
