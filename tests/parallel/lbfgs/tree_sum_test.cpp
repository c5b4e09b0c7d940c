#include "parallel/lbfgs/tree_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace lockstep {
namespace {

TEST(TreeSum, DoesNotDependOnTheOrderOfArrival) {
  const auto device = make_device({});
  constexpr int64_t portions = 16;
  const auto value = [](int64_t portion) {
    return 1.0f / static_cast<float>(3 + portion * portion);
  };
  // (0+1)+(2+3), and so on.
  std::vector<float> expected;
  for (int64_t i = 0; i < portions; ++i) expected.push_back(value(i));
  for (size_t step = 1; step < expected.size(); step *= 2)
    for (size_t i = 0; i < expected.size(); i += 2 * step) expected[i] += expected[i + step];
  TreeSum sum(*device, 1);
  std::vector<int64_t> order(portions);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    sum.begin(portions);
    for (const int64_t portion : order) {
      EXPECT_FALSE(sum.complete());
      EXPECT_FALSE(sum.has(portion));
      TreeSum::Array array = sum.take();
      device->fill(array.memory.floats(), value(portion));
      sum.add(portion, std::move(array));
      EXPECT_TRUE(sum.has(portion));
    }
    ASSERT_TRUE(sum.complete());
    EXPECT_EQ(sum.sum()[0], expected[0]) << "round " << round;
    std::shuffle(order.begin(), order.end(), random);
  }
}

TEST(TreeSum, OfOnePortionIsThePortion) {
  const auto device = make_device({});
  TreeSum sum(*device, 3);
  sum.begin(1);
  EXPECT_FALSE(sum.complete());
  TreeSum::Array array = sum.take();
  device->fill(array.memory.floats(), 2);
  sum.add(0, std::move(array));
  EXPECT_TRUE(sum.complete());
  EXPECT_EQ(sum.sum()[2], 2);
}

}  // namespace
}  // namespace lockstep
