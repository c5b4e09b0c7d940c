#pragma once

#include "data/datasets/raw_dataset.h"

namespace lockstep {

// Numeric features and a class per row. values: rows × features.
class TableDataset : public RawDataset {
 public:
  TableDataset(std::vector<std::string> features, std::vector<float> values,
               std::vector<int32_t> labels, std::vector<std::string> classes);

  const std::vector<std::string>& features() const { return features_; }
  std::span<const float> values(int64_t row) const;
  Normalizer fit(Normalize type, std::span<const int64_t> rows) const override;
  void set_normalizer(Normalizer normalizer) override;

 protected:
  void read_row(int64_t row, std::span<float> out) const override;

 private:
  std::vector<std::string> features_;
  std::vector<float> values_;      // as they were read
  std::vector<float> normalized_;  // as delivered in batches; stored, since tables are small
};

}  // namespace lockstep
