#include "base/nearest.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

const std::vector<std::string> keys = {"train.epochs", "train.batch", "optimizer.lr"};

TEST(Nearest, ForgivesAFewEdits) {
  EXPECT_EQ(nearest("train.epoch", keys), "train.epochs");
  EXPECT_EQ(nearest("tarin.batch", keys), "train.batch");
}

TEST(Nearest, MatchesTheLastPartOfAKey) { EXPECT_EQ(nearest("lr", keys), "optimizer.lr"); }

TEST(Nearest, IsEmptyWhenNothingIsClose) {
  EXPECT_EQ(nearest("xyzzy", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("lr", {}), "");
}

TEST(Nearest, IgnoresVeryLongWords) { EXPECT_EQ(nearest(std::string(100'000, 'x'), keys), ""); }

TEST(Suggestion, IsTheNearestOrTheWholeList) {
  EXPECT_EQ(suggestion("adma", {"sgd", "adam"}), "did you mean 'adam'?");
  EXPECT_EQ(suggestion("quux", {"sgd", "adam"}), "expected one of sgd, adam");
}

}  // namespace
}  // namespace lockstep
