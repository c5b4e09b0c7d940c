#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/data_config.h"

namespace lockstep {

// A sparse matrix in compressed row format: row r has values[i] in column columns[i], for i in
// [begins[r], begins[r + 1]).
struct SparseMatrix {
  std::vector<int64_t> begins = {0};
  std::vector<int32_t> columns;
  std::vector<float> values;

  int64_t rows() const { return static_cast<int64_t>(begins.size()) - 1; }
};

// One row per text, scaled to Euclidean norm 1. hashed: a word's column is its hash modulo `width`;
// all words have the same weight. tf_idf: one column for each of the `width` words that occur in
// the most texts, at least two; rarer words weigh more. `threads` share the work; their number does
// not change the result.
SparseMatrix text_features(const std::vector<std::string>& texts, PostFeatures kind, int64_t width,
                           int threads = 1);

}  // namespace lockstep
