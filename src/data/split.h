#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "data/dataset.h"

namespace lockstep {

// Number of samples that `asked` selects from `size`: below 1 it is a fraction, else a count.
// Throws a UserError, which names `key`, unless both the part and the rest have a sample.
int64_t part_size(double asked, int64_t size, const std::string& key);

// Removes `count` random rows and returns them; if stratified, in proportion to the classes. The
// returned and the remaining rows are in ascending order.
std::vector<int64_t> take_part(std::vector<int64_t>& rows, int64_t count, const Dataset& dataset,
                               bool stratified, Rng rng);

// Takes the rows that scikit-learn's train_test_split(random_state=seed) takes as its test part, so
// that the split of a script can be reproduced.
std::vector<int64_t> take_part_as_scikit_learn(std::vector<int64_t>& rows, int64_t count,
                                               uint32_t seed);

}  // namespace lockstep
