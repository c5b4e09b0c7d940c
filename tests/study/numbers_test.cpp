// Formats of numbers in reports.

#include "report/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

TEST(Numbers, MeasurementsHaveFourDigits) {
  EXPECT_EQ(number_text(9.3), "9.300");
  EXPECT_EQ(number_text(142.04), "142.0");
  EXPECT_EQ(number_text(999.94), "999.9");
  EXPECT_EQ(number_text(999.96), "1000");
  EXPECT_EQ(number_text(-0.0123456), "-0.01235");
  EXPECT_EQ(number_text(1234567.8), "1234568");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(NAN), "");
  EXPECT_EQ(percent_text(0.98954), "98.95%");
}

TEST(Numbers, CountsHaveNoTrailingZeros) {
  EXPECT_EQ(count_text(5), "5");
  EXPECT_EQ(count_text(0.4), "0.4");
  EXPECT_EQ(count_text(1e-5), "1e-05");
  EXPECT_EQ(count_text(100000), "100000");
}

TEST(Numbers, OtherThanOneTakeThePlural) {
  EXPECT_EQ(plural(1, "run"), "1 run");
  EXPECT_EQ(plural(2, "run"), "2 runs");
  EXPECT_EQ(plural(0, "study"), "0 studies");
}

}  // namespace
}  // namespace lockstep
