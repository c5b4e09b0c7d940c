#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/normalizer.h"

namespace lockstep {

// All samples of a source, stored as read. Batches are normalised.
class RawDataset : public Dataset {
 public:
  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  Shape sample_shape() const override { return shape_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int32_t label(int64_t row) const override { return labels_[static_cast<size_t>(row)]; }
  void read(std::span<const int64_t> rows, Batch& batch) const override;

  // Fits a normalizer of this type to the rows, which are the training part.
  virtual Normalizer fit(Normalize type, std::span<const int64_t> rows) const = 0;
  virtual void set_normalizer(Normalizer normalizer);
  const Normalizer& normalizer() const { return normalizer_; }

 protected:
  RawDataset(Shape shape, std::vector<int32_t> labels, std::vector<std::string> classes);
  virtual void read_row(int64_t row, std::span<float> out) const = 0;

 private:
  Shape shape_;
  std::vector<int32_t> labels_;
  std::vector<std::string> classes_;
  Normalizer normalizer_;
};

}  // namespace lockstep
