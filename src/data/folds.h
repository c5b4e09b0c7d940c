#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

// Rows to test on and the remaining rows to train on, both in ascending order.
struct Fold {
  std::vector<int64_t> train, test;
};

// Cuts rows into folds whose sizes differ by at most one, stratified by class. The result depends
// only on the rows, their classes and the seed. Throws a UserError if `folds` is below 2 or a class
// has fewer rows than folds; `where` completes its message.
std::vector<Fold> make_folds(const Dataset& data, std::span<const int64_t> rows, int64_t folds,
                             uint64_t seed, const std::string& where);

// Cuts all rows into parts whose sizes differ by at most one, stratified by class.
std::vector<std::vector<int64_t>> make_parts(const Dataset& data, int64_t parts, uint64_t seed);

}  // namespace lockstep
