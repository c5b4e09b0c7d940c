#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

// A part of the samples to test with, and the rest to train on, both in ascending order.
struct Fold {
  std::vector<int64_t> train, test;
};

// Cuts rows into folds that differ by one sample at most, with equal shares of every class. Which
// fold a row is in depends on the seed and the rows alone. A UserError where a class has fewer rows
// than there are folds; `where` is for its message.
std::vector<Fold> make_folds(const Dataset& data, std::span<const int64_t> rows, int64_t folds,
                             uint64_t seed, const std::string& where);

// Cuts all rows into parts of nearly equal size with equal shares of every class.
std::vector<std::vector<int64_t>> make_parts(const Dataset& data, int64_t parts, uint64_t seed);

}  // namespace lockstep
