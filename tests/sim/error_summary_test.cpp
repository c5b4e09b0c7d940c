#include "sim/error_summary.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(ErrorSummary, TheMedianOfTwoCasesIsTheirMean) {
  const ErrorSummary summary = summarise_errors({{.error = 0.099}, {.error = -0.211}});
  EXPECT_DOUBLE_EQ(summary.median, 0.155);
  EXPECT_DOUBLE_EQ(summary.largest, 0.211);
}

TEST(ErrorSummary, LeavesDisturbedCasesOutAndCountsThem) {
  const ErrorSummary summary = summarise_errors(
      {{.error = 0.64, .disturbed = true}, {.error = 0.02}, {.error = -0.04}, {.error = 0.03}});
  EXPECT_DOUBLE_EQ(summary.median, 0.03);
  EXPECT_DOUBLE_EQ(summary.largest, 0.04);
  EXPECT_EQ(summary.counted, 3u);
  EXPECT_EQ(summary.left_out, 1u);
}

TEST(ErrorSummary, IsEmptyIfAllCasesAreDisturbed) {
  const ErrorSummary summary = summarise_errors({{.error = 0.5, .disturbed = true}});
  EXPECT_EQ(summary.counted, 0u);
  EXPECT_DOUBLE_EQ(summary.median, 0);
}

}  // namespace
}  // namespace lockstep
