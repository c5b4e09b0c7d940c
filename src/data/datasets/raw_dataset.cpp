#include "data/datasets/raw_dataset.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace lockstep {

RawDataset::RawDataset(Shape shape, std::vector<int32_t> labels, std::vector<std::string> classes)
    : shape_(shape), labels_(std::move(labels)), classes_(std::move(classes)) {
  ENSURE(shape_.elements() > 0);
  for (const int32_t label : labels_)
    ENSURE(label >= 0 && static_cast<size_t>(label) < classes_.size());
}

void RawDataset::set_normalizer(Normalizer normalizer) {
  check_fits(normalizer, shape_);
  normalizer_ = std::move(normalizer);
}

void RawDataset::read(std::span<const int64_t> rows, Batch& batch) const {
  const auto sample = static_cast<size_t>(shape_.elements());
  batch.rows = static_cast<int64_t>(rows.size());
  if (batch.x.size() < rows.size() * sample) batch.x.resize(rows.size() * sample);
  if (batch.labels.size() < rows.size()) batch.labels.resize(rows.size());
  if (batch.ids.size() < rows.size()) batch.ids.resize(rows.size());
  const std::span<float> x(batch.x);
  const int64_t all = size();
  for (size_t i = 0; i < rows.size(); ++i) {
    ENSURE(rows[i] >= 0 && rows[i] < all);
    read_row(rows[i], x.subspan(i * sample, sample));
    batch.labels[i] = label(rows[i]);
    batch.ids[i] = rows[i];
  }
}

}  // namespace lockstep
