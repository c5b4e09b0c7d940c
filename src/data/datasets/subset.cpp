#include "data/datasets/subset.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace lockstep {

Subset::Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> rows)
    : whole_(std::move(whole)), rows_(std::move(rows)) {
  for (const int64_t row : rows_) ENSURE(row >= 0 && row < whole_->size());
}

void Subset::read(std::span<const int64_t> rows, Batch& batch) const {
  std::vector<int64_t> in_whole(rows.size());
  const int64_t all = size();
  for (size_t i = 0; i < rows.size(); ++i) {
    ENSURE(rows[i] >= 0 && rows[i] < all);
    in_whole[i] = whole_row(rows[i]);
  }
  whole_->read(in_whole, batch);
  std::copy(rows.begin(), rows.end(), batch.ids.begin());
}

}  // namespace lockstep
