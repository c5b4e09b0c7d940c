#include "data/datasets/table_dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace lockstep {

TableDataset::TableDataset(std::vector<std::string> features, std::vector<float> values,
                           std::vector<int32_t> labels, std::vector<std::string> classes)
    : RawDataset(Shape{static_cast<int64_t>(features.size())}, std::move(labels),
                 std::move(classes)),
      features_(std::move(features)),
      values_(std::move(values)),
      normalized_(values_) {
  ENSURE(values_.size() == static_cast<size_t>(size()) * features_.size());
}

std::span<const float> TableDataset::values(int64_t row) const {
  return std::span(values_).subspan(static_cast<size_t>(row) * features_.size(), features_.size());
}

void TableDataset::set_normalizer(Normalizer normalizer) {
  RawDataset::set_normalizer(std::move(normalizer));
  this->normalizer().apply(values_, normalized_);
}

void TableDataset::read_row(int64_t row, std::span<float> out) const {
  std::copy_n(normalized_.begin() + row * static_cast<int64_t>(features_.size()), features_.size(),
              out.begin());
}

Normalizer TableDataset::fit(Normalize type, std::span<const int64_t> rows) const {
  if (type == Normalize::none) return {};
  ENSURE(!rows.empty());
  Normalizer normalizer{type, {}, {}};
  for (size_t feature = 0; feature < features_.size(); ++feature) {
    double low = values(rows[0])[feature], high = low, sum = 0;
    for (const int64_t row : rows) {
      const double value = values(row)[feature];
      low = std::min(low, value), high = std::max(high, value), sum += value;
    }
    const double mean = sum / static_cast<double>(rows.size());
    double shift = low, spread = high - low;
    if (type == Normalize::standardize) {
      double squares = 0;  // second pass: no cancellation for features far from 0
      for (const int64_t row : rows) squares += std::pow(values(row)[feature] - mean, 2);
      shift = mean;
      spread = high > low ? std::sqrt(squares / static_cast<double>(rows.size())) : 0;
    }
    normalizer.shift.push_back(static_cast<float>(shift));
    // A constant feature becomes 0, without a division by zero.
    normalizer.scale.push_back(spread > 1e-30 ? static_cast<float>(1.0 / spread) : 1.0f);
  }
  return normalizer;
}

}  // namespace lockstep
