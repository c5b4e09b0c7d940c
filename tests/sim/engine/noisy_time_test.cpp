#include "sim/engine/noisy_time.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/virtual_time_testing.h"

namespace lockstep {
namespace {

// Times of micro-batches that take one second each without noise.
std::vector<double> factors(double noise, uint64_t seed, int rank, int count, int64_t ranks = 1) {
  PlainTime time;
  NoisyTime noisy(time, noise, seed, rank, ranks);
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    noisy.next_micro_batch();
    const double before = time.seconds();
    noisy.spend(1);
    all.push_back(time.seconds() - before);
  }
  return all;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  const double middle = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(NoisyTime, KeepsTheMeanAndHasTheStatedDeviation) {
  for (const double noise : {0.05, 0.2, 0.5}) {
    const std::vector<double> all = factors(noise, 1, 0, 40000);
    const double expected = deviation_of(noise);
    EXPECT_NEAR(mean(all), 1, 4 * expected / 200) << noise;
    EXPECT_NEAR(deviation(all), expected, 0.06 * expected) << noise;
  }
}

TEST(NoisyTime, WithoutNoiseIsExact) { EXPECT_EQ(factors(0, 1, 0, 3), std::vector<double>(3, 1)); }

TEST(NoisyTime, DependsOnSeedRankAndMicroBatchAlone) {
  EXPECT_EQ(factors(0.1, 1, 2, 20), factors(0.1, 1, 2, 20));
  EXPECT_NE(factors(0.1, 1, 2, 20), factors(0.1, 2, 2, 20));
  EXPECT_NE(factors(0.1, 1, 2, 20), factors(0.1, 1, 3, 20));
}

TEST(NoisyTime, IsTheSameForAllKernelsOfAMicroBatch) {
  PlainTime time;
  NoisyTime noisy(time, 0.3, 1, 0);
  noisy.next_micro_batch();
  noisy.spend(1);
  const double first = time.seconds();
  noisy.spend(2);
  EXPECT_DOUBLE_EQ(time.seconds(), 3 * first);
  noisy.next_micro_batch();
  noisy.spend(1);
  EXPECT_NE(time.seconds(), 4 * first);
}

// The mean of the largest of eight normal values is 1.4236.
TEST(NoisyTime, OfRanksThatWaitForEachOtherIsThatOfTheSlowest) {
  const double noise = 0.01;
  const std::vector<double> all = factors(noise, 1, 0, 20000, 8);
  EXPECT_NEAR((mean(all) - 1) / noise, 1.4236, 0.03);
}

}  // namespace
}  // namespace lockstep
