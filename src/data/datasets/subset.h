#pragma once

#include <memory>

#include "data/dataset.h"

namespace lockstep {

// Rows of a data set, renumbered from 0. The parts of a split share the samples, hence shared_ptr.
class Subset : public Dataset {
 public:
  Subset(std::shared_ptr<const Dataset> whole, std::vector<int64_t> rows);

  int64_t size() const override { return static_cast<int64_t>(rows_.size()); }
  Shape sample_shape() const override { return whole_->sample_shape(); }
  const std::vector<std::string>& classes() const override { return whole_->classes(); }
  int32_t label(int64_t row) const override { return whole_->label(whole_row(row)); }
  int64_t outputs() const override { return whole_->outputs(); }
  int64_t answers() const override { return whole_->answers(); }
  bool sparse() const override { return whole_->sparse(); }
  bool multi_label() const override { return whole_->multi_label(); }
  void read(std::span<const int64_t> rows, Batch& batch) const override;

  const Dataset& whole() const { return *whole_; }
  int64_t whole_row(int64_t row) const { return rows_[static_cast<size_t>(row)]; }

 private:
  std::shared_ptr<const Dataset> whole_;
  std::vector<int64_t> rows_;
};

}  // namespace lockstep
