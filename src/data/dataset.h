#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace lockstep {

// Samples ready for the network.
struct Batch {
  int64_t rows = 0;
  std::vector<float> x;  // rows × elements of a sample
  // Sparse samples, instead of x; layout as in SparseRows.
  std::vector<int64_t> begins;
  std::vector<int32_t> columns;
  std::vector<float> values;
  std::vector<int32_t> labels;  // rows × answers
  std::vector<float> targets;   // multi-label samples: rows × classes, 0 or 1
  std::vector<int64_t> ids;     // index of each row's sample in the data set
};

// Samples with random access. Several threads may call read() at the same time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual Shape sample_shape() const = 0;  // height, width, channels; or features; or tokens
  virtual const std::vector<std::string>& classes() const = 0;
  virtual int32_t label(int64_t row) const = 0;
  // Number of classes, and number of labels per sample (text: one per position).
  virtual int64_t outputs() const { return static_cast<int64_t>(classes().size()); }
  virtual int64_t answers() const { return 1; }
  virtual bool sparse() const { return false; }
  virtual bool multi_label() const { return false; }
  // Fills the batch. Its vectors may be longer than `rows` requires: they are reused.
  virtual void read(std::span<const int64_t> rows, Batch& batch) const = 0;
};

}  // namespace lockstep
