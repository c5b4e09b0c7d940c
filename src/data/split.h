#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "data/dataset.h"

namespace lockstep {

// How many samples `asked` means of `size`: below 1 a share, else a number. `key` is for messages.
// A UserError unless both the part and the rest have a sample.
int64_t part_size(double asked, int64_t size, const std::string& key);

// Takes `count` of the rows out at random, by class in equal shares if stratified, and returns
// them. What stays and what is taken are both in ascending order.
std::vector<int64_t> take_part(std::vector<int64_t>& rows, int64_t count, const Dataset& dataset,
                               bool stratified, Rng rng);

// The same with the rows that scikit-learn's train_test_split(random_state=seed) would take as its
// test part, so that a script's split can be repeated.
std::vector<int64_t> take_part_as_scikit_learn(std::vector<int64_t>& rows, int64_t count,
                                               uint32_t seed);

}  // namespace lockstep
