#include "data/split.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "base/error.h"
#include "base/with_commas.h"

namespace lockstep {
namespace {

// Number of rows to take per class, by the largest remainder method.
std::vector<int64_t> quotas(const std::vector<std::vector<int64_t>>& by_class, int64_t count,
                            int64_t size) {
  std::vector<int64_t> quota(by_class.size());
  std::vector<std::pair<int64_t, size_t>> remainders;  // negated, so that sorting puts large first
  int64_t given = 0;
  for (size_t c = 0; c < by_class.size(); ++c) {
    const int64_t exact = static_cast<int64_t>(by_class[c].size()) * count;
    given += quota[c] = exact / size;
    remainders.emplace_back(-(exact % size), c);
  }
  std::sort(remainders.begin(), remainders.end());
  for (size_t i = 0; given < count; ++i, ++given) ++quota[remainders[i].second];
  return quota;
}

}  // namespace

int64_t part_size(double asked, int64_t size, const std::string& key) {
  if (!(asked >= 0) || !std::isfinite(asked) || (asked >= 1 && asked != std::floor(asked)))
    throw UserError(
        "{} = {} is not possible; expected a fraction below 1, such as 0.2, or a whole "
        "number of samples",
        key, asked);
  const double wanted = asked < 1 ? std::round(asked * static_cast<double>(size)) : asked;
  if (wanted < 1)
    throw UserError("{} = {} of {} samples is an empty part; use a larger value", key, asked,
                    with_commas(size));
  if (wanted >= static_cast<double>(size))
    throw UserError("{} = {} leaves none of the {} samples to train on; use a smaller value", key,
                    asked, with_commas(size));
  return static_cast<int64_t>(wanted);
}

std::vector<int64_t> take_part(std::vector<int64_t>& rows, int64_t count, const Dataset& dataset,
                               bool stratified, Rng rng) {
  ENSURE(count >= 0 && count <= static_cast<int64_t>(rows.size()));
  shuffle(rows, rng);
  std::vector<std::vector<int64_t>> groups(stratified ? dataset.classes().size() : 1);
  for (const int64_t row : rows)
    groups[stratified ? static_cast<size_t>(dataset.label(row)) : 0].push_back(row);
  const std::vector<int64_t> quota = quotas(groups, count, static_cast<int64_t>(rows.size()));
  std::vector<int64_t> taken, kept;
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto middle = groups[g].begin() + quota[g];
    taken.insert(taken.end(), groups[g].begin(), middle);
    kept.insert(kept.end(), middle, groups[g].end());
  }
  std::sort(taken.begin(), taken.end());
  std::sort(kept.begin(), kept.end());
  rows = std::move(kept);
  return taken;
}

std::vector<int64_t> take_part_as_scikit_learn(std::vector<int64_t>& rows, int64_t count,
                                               uint32_t seed) {
  ENSURE(count >= 0 && count <= static_cast<int64_t>(rows.size()));
  // The algorithm of NumPy's RandomState(seed).permutation: random numbers are masked to the next
  // power of two and drawn again while too large.
  std::mt19937 random(seed);
  for (uint32_t last = static_cast<uint32_t>(rows.size()) - 1; last > 0; --last) {
    const uint32_t mask = static_cast<uint32_t>(std::bit_ceil(uint64_t{last} + 1) - 1);
    uint32_t other;
    do other = static_cast<uint32_t>(random()) & mask;
    while (other > last);
    std::swap(rows[last], rows[other]);
  }
  std::vector<int64_t> taken(rows.begin(), rows.begin() + count);
  rows.erase(rows.begin(), rows.begin() + count);
  std::sort(taken.begin(), taken.end());
  std::sort(rows.begin(), rows.end());
  return taken;
}

}  // namespace lockstep
