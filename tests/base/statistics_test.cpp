#include "base/statistics.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Median, IsTheMiddleOfAnOddCount) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({5, 5, 1, 9, 5}), 5);
}

TEST(Median, IsTheMeanOfTheTwoInTheMiddleOfAnEvenCount) {
  EXPECT_DOUBLE_EQ(median({21.1, 9.9}), 15.5);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({1e308, 1e308}), 1e308);
}

TEST(Median, OfAnEmptyListIsZero) { EXPECT_EQ(median({}), 0); }

}  // namespace
}  // namespace lockstep
