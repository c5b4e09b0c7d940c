// Where a network is cut into parts.

#include "parallel/pipeline/partition.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"
#include "data/data_testing.h"

namespace lockstep {
namespace {

double largest_sum(const std::vector<double>& costs, const std::vector<size_t>& ends) {
  double largest = 0;
  size_t begin = 0;
  for (const size_t end : ends) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += costs[i];
    largest = std::max(largest, sum);
    begin = end;
  }
  return largest;
}

// Tries all partitions.
double best_of(const std::vector<double>& costs, size_t parts, size_t begin = 0) {
  double sum = 0;
  for (size_t i = begin; i < costs.size(); ++i) sum += costs[i];
  if (parts == 1) return sum;
  double best = 1e300, first = 0;
  for (size_t end = begin + 1; end + parts - 1 <= costs.size(); ++end) {
    first += costs[end - 1];
    best = std::min(best, std::max(first, best_of(costs, parts - 1, end)));
  }
  return best;
}

TEST(Partition, HasTheSmallestPossibleLargestPart) {
  Rng rng(1, Purpose::split, 5);
  for (int i = 0; i < 50; ++i) {
    std::vector<double> costs(3 + rng.below(8));
    for (double& cost : costs) cost = rng.below(4) == 0 ? 0 : rng.uniform();
    for (size_t parts = 1; parts <= costs.size(); ++parts) {
      const std::vector<size_t> ends = min_max_partition(costs, parts);
      ASSERT_EQ(ends.size(), parts);
      EXPECT_EQ(ends.back(), costs.size());
      for (size_t k = 1; k < parts; ++k) EXPECT_LT(ends[k - 1], ends[k]);
      EXPECT_DOUBLE_EQ(largest_sum(costs, ends), best_of(costs, parts)) << i << " in " << parts;
    }
  }
}

TEST(Partition, DoesNotCutFusedLayers) {
  const Network network({"conv 4 3x3 relu", "maxpool 2", "conv 6 3x3 relu", "maxpool 2", "flatten",
                         "dropout 0.3", "dense 20 relu", "dense 10"},
                        {28, 28, 1});
  const std::vector<LayerRange> steps = steps_of(network);
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[0].end - steps[0].begin, 3u);  // convolution, relu, pooling
  const std::vector<LayerRange> all = parts_of(network, 5);
  EXPECT_EQ(all, steps);
  const std::vector<LayerRange> two = parts_of(network, 2);
  EXPECT_EQ(two[0].begin, 0u);
  EXPECT_EQ(two[0].end, two[1].begin);
  EXPECT_EQ(two[1].end, network.layers().size());
  expect_says(error_of<UserError>([&] { parts_of(network, 6); }),
              {"5 steps", "6 parts", "at most 5"});
}

}  // namespace
}  // namespace lockstep
