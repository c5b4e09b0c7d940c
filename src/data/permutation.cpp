#include "data/permutation.h"

#include <numeric>

#include "base/rng.h"

namespace lockstep {

std::vector<int64_t> natural_order(int64_t size) {
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

std::vector<int64_t> epoch_order(int64_t size, uint64_t seed, int64_t epoch, int64_t rank) {
  std::vector<int64_t> order = natural_order(size);
  Rng rng(seed, Purpose::shuffle, static_cast<uint64_t>(epoch), static_cast<uint64_t>(rank));
  shuffle(order, rng);
  return order;
}

}  // namespace lockstep
