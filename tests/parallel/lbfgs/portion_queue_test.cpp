#include "parallel/lbfgs/portion_queue.h"

#include <gtest/gtest.h>

#include <set>

namespace lockstep {
namespace {

TEST(PortionQueue, DealsEachPortionOnceBeforeBackups) {
  PortionQueue queue(8, 3);
  std::set<int64_t> dealt;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(dealt.insert(queue.next(i % 3).value()).second);
  EXPECT_EQ(dealt.size(), 8u);
  EXPECT_EQ(queue.backups(), 0);
}

TEST(PortionQueue, GivesAWorkerConsecutivePortions) {
  PortionQueue queue(8, 2);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(queue.next(0), i);
    EXPECT_EQ(queue.next(1), i + 4);
  }
}

TEST(PortionQueue, GivesFreeWorkersBackupsOfUnfinishedPortions) {
  PortionQueue queue(2, 3);
  EXPECT_EQ(queue.next(0), 0);
  EXPECT_EQ(queue.next(1), 1);
  EXPECT_TRUE(queue.finish(1));
  EXPECT_EQ(queue.next(1), 0);
  EXPECT_EQ(queue.backups(), 1);
  EXPECT_EQ(queue.next(2), std::nullopt) << "two copies are enough";
  EXPECT_EQ(queue.next(0), std::nullopt) << "it computes the portion already";
  EXPECT_FALSE(queue.complete());
  EXPECT_TRUE(queue.finish(0));
  EXPECT_TRUE(queue.complete());
}

TEST(PortionQueue, CountsTheFirstResultOnly) {
  PortionQueue queue(2, 2);
  queue.next(0);
  queue.next(1);
  EXPECT_TRUE(queue.finish(0));
  EXPECT_FALSE(queue.finish(0));
  EXPECT_FALSE(queue.complete());
}

TEST(PortionQueue, EndsWithoutAWorkerThatNeverReturns) {
  PortionQueue queue(16, 3);
  queue.next(2);  // and is never heard of again
  int free = 0;
  for (int i = 0; i < 100 && !queue.complete(); ++i) {
    const auto portion = queue.next(free);
    if (portion) queue.finish(*portion);
    free = 1 - free;
  }
  EXPECT_TRUE(queue.complete());
}

}  // namespace
}  // namespace lockstep
