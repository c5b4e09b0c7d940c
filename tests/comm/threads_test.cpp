#include "comm/backend/threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "comm/backend/self.h"
#include "comm/conformance.h"

namespace lockstep {
namespace {

TEST(SelfCommunicator, Conforms) { check_conformance(*make_self_communicator()); }

class ThreadRanks : public testing::TestWithParam<int> {};

TEST_P(ThreadRanks, Conform) { run_thread_ranks(GetParam(), 60, check_conformance); }

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadRanks, testing::Values(1, 2, 3, 4, 7, 8));

TEST(ThreadRanks, ExchangeMoreThanTwoGigabytes) {
  if (!large_messages_fit()) GTEST_SKIP() << "needs 6.5 GB of free memory";
  run_thread_ranks(2, 60, check_large_messages);
}

TEST(ThreadRanks, AnErrorOnOneRankEndsAll) {
  const auto start = std::chrono::steady_clock::now();
  try {
    run_thread_ranks(3, 60, [](Communicator& ranks) {
      if (ranks.rank() == 1) throw UserError("rank 1 met something");
      ranks.barrier().wait();
    });
    FAIL() << "no error";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "rank 1 met something");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(ThreadRanks, ATimeoutNamesTheMissingRankAndTheOperation) {
  try {
    run_thread_ranks(3, 0.2, [](Communicator& ranks) {
      if (ranks.rank() == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        return;
      }
      std::vector<float> data(10);
      ranks.all_reduce(data, data).wait();
    });
    FAIL() << "no error";
  } catch (const CommunicationFailure& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("all-reduce of 40 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("for rank 2;"), std::string::npos) << text;
    EXPECT_NE(text.find("parallel.timeout"), std::string::npos) << text;
  }
}

TEST(ThreadRanks, DoNotReceiveAnAbandonedMessage) {
  run_thread_ranks(2, 60, [](Communicator& ranks) {
    std::vector<float> data(1);
    if (ranks.rank() == 0) {
      ranks.send(std::as_bytes(std::span(data)), 1, 3);  // not waited for
      data[0] = 7;
      ranks.barrier().wait();
      ranks.send(std::as_bytes(std::span(data)), 1, 3).wait();
    } else {
      ranks.barrier().wait();
      ranks.receive(std::as_writable_bytes(std::span(data)), 0, 3).wait();
      EXPECT_EQ(data[0], 7);
    }
  });
}

TEST(ThreadRanks, DistinguishWaitingForRanksFromMovingData) {
  run_thread_ranks(2, 60, [](Communicator& ranks) {
    if (ranks.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    std::vector<float> data(10);
    const WaitTimes times = ranks.all_reduce(data, data).wait();
    if (ranks.rank() == 0) {
      EXPECT_GT(times.waiting, 0.05);
      EXPECT_LT(times.moving, 0.05);
    }
  });
}

}  // namespace
}  // namespace lockstep
