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

TEST(Diagnosis, IsEmptyIfNothingIsWrong) {
  EXPECT_EQ(said({rank(10, 0.3, 0.2), rank(10, 0.3, 0.2)}), "");
}

TEST(Diagnosis, DistinguishesCommunicationFromWaiting) {
  const std::string bound = said({rank(0.9, 2, 0.1), rank(0.9, 2, 0.1)});
  EXPECT_TRUE(says(bound, "sends 2.8 MB and computes 9 ms, and 67% of the time")) << bound;
  EXPECT_TRUE(says(bound, "batch >= 8192")) << bound;
  EXPECT_TRUE(says(bound, "compare the accuracy")) << bound;
  const std::string slow = said({rank(5, 0.1, 5), rank(10, 0.1, 0)});
  EXPECT_TRUE(says(slow, "rank 1 on host a computes 33% longer")) << slow;
}

TEST(Diagnosis, AgreesWithTheShares) {
  // 79.6% of the time is computing: communication is reported, but the run is not bound by it.
  const std::vector<RankTimes> ranks(2, rank(7.96, 1.8, 0.24));
  const ParallelFigures f = summarise(ranks, 2, 100, 2'800'000, 256);
  EXPECT_EQ(f.bound,
            "computing (80% of the time); exposed communication 18%, "
            "waiting for slower ranks 2%");
  EXPECT_TRUE(says(f.diagnosis, "18% of the time is exposed communication")) << f.diagnosis;
  EXPECT_FALSE(says(f.diagnosis, "bound")) << f.diagnosis;
}

TEST(Diagnosis, SlowerThanTheBaselineHasAReason) {
  const Baseline alone{
      .run = "runs/one", .samples_per_second = 5000, .gradient_seconds = 0.024, .batch = 128};
  // Computing 128 samples took 24 ms alone and takes 68 ms now.
  ParallelFigures f =
      summarise(std::vector<RankTimes>(2, rank(6.8, 0.3, 0.1)), 2, 100, 2'800'000, 256);
  compare(f, alone, 3500);
  EXPECT_TRUE(says(f.diagnosis, "slower than runs/one (0.70 times its speed)")) << f.diagnosis;
  EXPECT_TRUE(says(f.diagnosis, "takes 68 ms, alone it took 24")) << f.diagnosis;
  EXPECT_TRUE(says(f.diagnosis, "cores were busy")) << f.diagnosis;
  // There is a reason whatever the shares are.
  for (const double waiting : {0.0, 0.2, 5.0}) {
    ParallelFigures any =
        summarise(std::vector<RankTimes>(2, rank(2.4, 0.01, waiting)), 2, 100, 2'800'000, 256);
    compare(any, alone, 4000);
    EXPECT_TRUE(says(any.diagnosis, "slower than runs/one")) << any.diagnosis;
    EXPECT_GT(any.diagnosis.size(), 60u);
  }
  ParallelFigures quick =
      summarise(std::vector<RankTimes>(2, rank(2.4, 0.01, 0)), 2, 100, 2'800'000, 256);
  compare(quick, alone, 9900);
  EXPECT_EQ(quick.diagnosis, "");
  EXPECT_NEAR(quick.efficiency, 0.99, 1e-9);
}

TEST(Diagnosis, ReportsTooLittleWorkAndSlowLoading) {
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

TEST(Diagnosis, HostsThatArePartsOfOneMachineShareItsCores) {
  std::vector<RankTimes> ranks(3, rank(1, 9, 0));
  for (size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].host = fmt::format("h{}", r);
    ranks[r].machine = "m";
  }
  const ParallelFigures figures = summarise(ranks, 3, 100, 2'800'000, 256);
  EXPECT_TRUE(figures.emulated_hosts);
  EXPECT_TRUE(figures.oversubscribed);
  EXPECT_EQ(figures.hosts, 3);
  EXPECT_EQ(figures.cores, 2);
  EXPECT_TRUE(says(figures.bound, "emulated hosts")) << figures.bound;
  EXPECT_TRUE(says(figures.diagnosis, "exposed communication")) << figures.diagnosis;
  for (RankTimes& r : ranks) r.machine = r.host;
  EXPECT_FALSE(summarise(ranks, 3, 100, 0, 0).emulated_hosts);
}

TEST(Diagnosis, ImbalanceCountsOnlyRanksThatTrain) {
  const ParallelFigures figures =
      summarise({rank(9, 0, 2), rank(11, 0, 0), rank(0, 0, 0)}, 2, 100, 0, 0);
  EXPECT_NEAR(figures.imbalance, 0.1, 1e-9);
  EXPECT_NEAR(figures.computing_share, 20.0 / 22, 1e-9);
}

TEST(Diagnosis, OfAPipelineNamesItsBubbleAndTheSlowestStage) {
  // Two replicas of two stages; the second stage of the second replica computes longest.
  std::vector<RankTimes> ranks = {rank(6, 0, 4), rank(8, 0, 2), rank(6, 0, 4), rank(9, 0, 1)};
  for (RankTimes& r : ranks) r.cores[0] = 0b1111;
  const ParallelFigures f = summarise(ranks, 4, 100, 1'000'000, 256, "all-reduce", 2, 0.2);
  for (const char* part :
       {"stages wait 28%", "20% is the bubble", "parallel.micro_batches", "stage 1 (rank 3"})
    EXPECT_TRUE(says(f.diagnosis, part)) << f.diagnosis;
  EXPECT_FALSE(says(f.diagnosis, "something else"));
}

}  // namespace
}  // namespace lockstep
