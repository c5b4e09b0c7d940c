#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_config.h"

namespace lockstep {

// A matrix of which most values are 0, row by row: row r is columns[i], values[i] for i from
// begins[r] up to begins[r + 1].
struct SparseMatrix {
  std::vector<int64_t> begins = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;

  int64_t rows() const { return static_cast<int64_t>(begins.size()) - 1; }
};

// Texts as rows of length 1 (the Euclidean one). "hashed": a word's column is its hash, all words
// weigh the same. "tf-idf": the `width` words that most texts have, at least two, get a column
// each, and count the more the fewer texts have them.
SparseMatrix text_features(const std::vector<std::string>& texts, PostFeatures kind, int64_t width);

}  // namespace lockstep
