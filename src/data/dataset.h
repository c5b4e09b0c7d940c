#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/shape.h"

namespace lockstep {

// A few samples made ready for the network: x holds rows × sample floats, row after row.
struct Batch {
  int64_t rows = 0;
  std::vector<float> x;
  // Of sparse samples, instead of x: as SparseRows has it.
  std::vector<int64_t> begins;
  std::vector<int32_t> columns;
  std::vector<float> values;
  std::vector<int32_t> labels;  // the classes of a row, one after the other
  std::vector<float> targets;   // of multi-label samples: rows × classes, 0 or 1
  std::vector<int64_t> ids;     // which sample of the data set each row is
};

// Samples that can be read in any order. Reading is const and safe from several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  virtual Shape sample_shape() const = 0;  // height, width, channels; or features; or tokens
  virtual const std::vector<std::string>& classes() const = 0;
  virtual int32_t label(int64_t row) const = 0;
  // How many classes there are, and how many answers a sample has: of text, one a position.
  virtual int64_t outputs() const { return static_cast<int64_t>(classes().size()); }
  virtual int64_t answers() const { return 1; }
  virtual bool sparse() const { return false; }
  virtual bool multi_label() const { return false; }
  // Fills the batch, whose vectors it resizes only when they are too small.
  virtual void read(std::span<const int64_t> rows, Batch& batch) const = 0;
};

}  // namespace lockstep
