// Replays past findings of ./run fuzz and the seeds, built with the ordinary compiler.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "fuzz_target.h"

namespace lockstep {

void PrintTo(const FuzzTarget& target, std::ostream* out) { *out << target.name; }

namespace {

class Replay : public testing::TestWithParam<FuzzTarget> {};

void expect_answer(const FuzzTarget& target, const std::vector<uint8_t>& input,
                   const std::string& name) {
  SCOPED_TRACE(target.name + " of " + name);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_NO_THROW(run(target, input));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_P(Replay, EveryFoundInputIsReadOrRefused) {
  std::vector<fs::path> found;
  std::error_code none;  // a target without findings
  for (const auto& entry : fs::directory_iterator(fs::path(FOUND_INPUTS) / GetParam().name, none))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  for (const fs::path& path : found) expect_answer(GetParam(), read_bytes(path), path.string());
}

// A target whose seeds are refused at the first line would find nothing.
TEST_P(Replay, SeedsAreReadToTheirEnd) {
  const std::vector<std::string> seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());
  for (size_t i = 0; i < seeds.size(); ++i) {
    EXPECT_NO_THROW(GetParam().read(seeds[i])) << GetParam().name << ", seed " << i;
    EXPECT_LE(seeds[i].size(), 16u << 10);
  }
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Replay, testing::ValuesIn(fuzz_targets()), [](const auto& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace lockstep
