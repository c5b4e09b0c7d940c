#include "train/diagnosis.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

RankTimes rank(double compute, double exposed, double waiting, double load = 0) {
  RankTimes r{.host = "a", .threads = 1};
  r.cores[0] = 0b11;
  r.times = {.load = load, .compute = compute, .exposed = exposed, .waiting = waiting};
  return r;
}

std::string said(const std::vector<RankTimes>& ranks) {
  return summarise(ranks, static_cast<int>(ranks.size()), 100, 2'800'000, 256).diagnosis;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Diagnosis, SaysNothingWhereNothingIsWrong) {
  EXPECT_EQ(said({rank(10, 0.3, 0.2), rank(10, 0.3, 0.2)}), "");
}

TEST(Diagnosis, TellsCommunicationBoundFromWaiting) {
  const std::string bound = said({rank(0.9, 2, 0.1), rank(0.9, 2, 0.1)});
  EXPECT_TRUE(says(bound, "sends 2.8 MB and computes 9 ms: communication-bound")) << bound;
  EXPECT_TRUE(says(bound, "batch >= 8192")) << bound;
  const std::string slow = said({rank(5, 0.1, 5), rank(10, 0.1, 0)});
  EXPECT_TRUE(says(slow, "rank 1 on host a computes 33% longer")) << slow;
}

TEST(Diagnosis, TellsTooLittleWorkAndSlowLoading) {
  EXPECT_TRUE(says(said({rank(0.001, 0.01, 0), rank(0.001, 0.01, 0)}), "too little to share"));
  EXPECT_TRUE(says(said({rank(10, 0, 0, 5), rank(10, 0, 0, 5)}), "data.workers"));
}

TEST(Diagnosis, MoreThreadsThanCoresIsOversubscribed) {
  const std::vector<RankTimes> three(3, rank(10, 0, 0));
  const ParallelFigures figures = summarise(three, 3, 100, 0, 0);
  EXPECT_TRUE(figures.oversubscribed);
  EXPECT_TRUE(says(figures.diagnosis, "3 ranks share 2 cores")) << figures.diagnosis;
  std::vector<RankTimes> apart = {rank(10, 0, 0), rank(10, 0, 0), rank(10, 0, 0)};
  apart[2].host = "b";
  EXPECT_FALSE(summarise(apart, 3, 100, 0, 0).oversubscribed);
}

TEST(Diagnosis, ImbalanceIsOfTheRanksThatTrain) {
  const ParallelFigures figures =
      summarise({rank(9, 0, 2), rank(11, 0, 0), rank(0, 0, 0)}, 2, 100, 0, 0);
  EXPECT_NEAR(figures.imbalance, 0.1, 1e-9);
  EXPECT_NEAR(figures.computing_share, 20.0 / 22, 1e-9);
}

}  // namespace
}  // namespace lockstep
