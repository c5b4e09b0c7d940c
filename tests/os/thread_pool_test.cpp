#include "os/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace lockstep {
namespace {

TEST(ThreadPool, EveryItemIsDoneOnce) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t count : {1, 5, 64, 1000})
      for (const int64_t grain : {1, 3, 16, 5000}) {
        std::vector<std::atomic<int>> done(static_cast<size_t>(count));
        pool.split(count, grain, [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) ++done[static_cast<size_t>(i)];
        });
        for (const auto& times : done)
          ASSERT_EQ(times, 1) << threads << " " << count << " " << grain;
      }
  }
}

TEST(ThreadPool, SharesAreWholeGrains) {
  ThreadPool pool(3);
  pool.split(100, 16, [](int64_t begin, int64_t end, int) {
    EXPECT_EQ(begin % 16, 0);
    EXPECT_TRUE(end % 16 == 0 || end == 100);
  });
}

TEST(ThreadPool, AnEmptyLoopCallsNothing) {
  ThreadPool pool(2);
  pool.split(0, 1, [](int64_t, int64_t, int) { FAIL(); });
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolStaysUsable) {
  ThreadPool pool(3);
  for (int member = 0; member < 3; ++member)
    EXPECT_THROW(pool.split(3, 1,
                            [&](int64_t, int64_t, int m) {
                              if (m == member) throw std::runtime_error("of a member");
                            }),
                 std::runtime_error);
  std::atomic<int> done = 0;
  pool.split(3, 1, [&](int64_t, int64_t, int) { ++done; });
  EXPECT_EQ(done, 3);
}

TEST(ThreadPool, ManyShortLoopsDoNotHang) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum = 0;
  for (int i = 0; i < 2000; ++i) pool.split(2, 1, [&](int64_t b, int64_t e, int) { sum += e - b; });
  EXPECT_EQ(sum, 4000);
}

}  // namespace
}  // namespace lockstep
