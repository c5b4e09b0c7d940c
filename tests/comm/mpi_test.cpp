#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "comm/conformance.h"

namespace lockstep {
namespace {

struct Ended {
  int code;
  std::string output;
};

Ended run_job(int ranks, const std::string& what) {
  const std::string command = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 mpiexec "
      "--oversubscribe "
      "--bind-to none -n {} {} {} 2>&1",
      ranks, COMM_RANKS, what);
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> segment;
  while (const size_t count = std::fread(segment.data(), 1, segment.size(), pipe))
    output.append(segment.data(), count);
  return {WEXITSTATUS(::pclose(pipe)), output};
}

class MpiRanks : public testing::TestWithParam<int> {};

TEST_P(MpiRanks, Conform) {
  const Ended job = run_job(GetParam(), "conform");
  EXPECT_EQ(job.code, 0) << job.output;
}

INSTANTIATE_TEST_SUITE_P(Sizes, MpiRanks, testing::Values(1, 2, 3, 4, 7, 8));

TEST(MpiRanks, ExchangeMoreThanTwoGigabytes) {
  if (!large_messages_fit()) GTEST_SKIP() << "needs 6.5 GB of free memory";
  const Ended job = run_job(2, "large");
  EXPECT_EQ(job.code, 0) << job.output;
}

TEST(MpiRanks, NameAStoppedRankAndEndTheJob) {
  const auto start = std::chrono::steady_clock::now();
  const Ended job = run_job(3, "stop");
  EXPECT_NE(job.code, 0);
  EXPECT_NE(job.output.find("for rank 1 on host"), std::string::npos) << job.output;
  EXPECT_NE(job.output.find("all-reduce of 400000 bytes"), std::string::npos) << job.output;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

}  // namespace
}  // namespace lockstep
