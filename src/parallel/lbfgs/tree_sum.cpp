#include "parallel/lbfgs/tree_sum.h"

#include <bit>

#include "base/error.h"

namespace lockstep {

void TreeSum::begin(int64_t portions) {
  ENSURE(std::has_single_bit(static_cast<uint64_t>(portions)));
  levels_ = std::countr_zero(static_cast<uint64_t>(portions));
  added_.assign(static_cast<size_t>(portions), false);
  for (auto& [at, array] : sums_) free_.push_back(std::move(array));
  sums_.clear();
}

TreeSum::Array TreeSum::take() {
  if (free_.empty()) {
    Array array{.memory = device_.allocate(floats_ * sizeof(float)), .mirror = {}};
    array.mirror = {&device_, array.memory.floats()};
    return array;
  }
  Array array = std::move(free_.back());
  free_.pop_back();
  return array;
}

void TreeSum::add(int64_t portion, Array array) {
  added_[static_cast<size_t>(portion)] = true;
  int level = 0;
  for (int64_t index = portion;; ++level, index /= 2) {
    const auto neighbour = sums_.find({level, index ^ 1});
    if (level == levels_ || neighbour == sums_.end()) {
      sums_.emplace(std::pair{level, index}, std::move(array));
      return;
    }
    device_.add(array.memory.floats(), neighbour->second.memory.floats());
    free_.push_back(std::move(neighbour->second));
    sums_.erase(neighbour);
  }
}

}  // namespace lockstep
