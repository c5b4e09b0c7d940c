#pragma once

#include "data/datasets/raw_dataset.h"

namespace lockstep {

// Rows that a data set holds, where it does not hold all.
struct RowRange {
  int64_t begin = 0, end = 0;
};

// Images kept as bytes (a quarter of the memory of floats): row after row of height × width ×
// channels.
class ImageDataset : public RawDataset {
 public:
  ImageDataset(Shape shape, std::vector<uint8_t> pixels, std::vector<int32_t> labels,
               std::vector<std::string> classes, std::vector<RowRange> held = {});

  std::span<const uint8_t> pixels(int64_t row) const;
  Normalizer fit(Normalize type, std::span<const int64_t> rows) const override;

 protected:
  void read_row(int64_t row, std::span<float> out) const override;

 private:
  std::vector<uint8_t> pixels_;
  std::vector<RowRange> held_;  // whose pixels follow each other
};

}  // namespace lockstep
