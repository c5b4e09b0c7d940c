#pragma once

#include "data/datasets/raw_dataset.h"

namespace lockstep {

// A range of rows that a data set holds in memory.
struct RowRange {
  int64_t begin = 0, end = 0;
};

// Images stored as bytes, a quarter of the memory of floats. pixels: rows × height × width ×
// channels, of the rows in `held`; empty: all rows.
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
  std::vector<RowRange> held_;  // pixels_ holds these ranges in sequence
};

}  // namespace lockstep
