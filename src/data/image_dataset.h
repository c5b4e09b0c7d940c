#pragma once

#include "data/raw_dataset.h"

namespace lockstep {

// Images kept as bytes (a quarter of the memory of floats): row after row of height × width ×
// channels.
class ImageDataset : public RawDataset {
 public:
  ImageDataset(Shape shape, std::vector<uint8_t> pixels, std::vector<int32_t> labels,
               std::vector<std::string> classes);

  std::span<const uint8_t> pixels(int64_t row) const;
  Normalizer fit(const std::string& type, std::span<const int64_t> rows) const override;

 protected:
  void read_row(int64_t row, std::span<float> out) const override;

 private:
  std::vector<uint8_t> pixels_;
};

}  // namespace lockstep
