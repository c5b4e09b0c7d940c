#include "comm/compression.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/rng.h"

namespace lockstep {
namespace {

float sent(float value, Compression compression) {
  uint16_t bits = 0;
  encode({&value, 1}, {&bits, 1}, compression);
  decode({&bits, 1}, {&value, 1}, compression);
  return value;
}

constexpr float infinite = std::numeric_limits<float>::infinity();

TEST(Compression, Bf16RoundsToTheNearestOfEightBits) {
  EXPECT_EQ(sent(1.0f, Compression::bf16), 1.0f);
  EXPECT_EQ(sent(1.0f + 0x1p-8f, Compression::bf16), 1.0f);                // a tie: to even
  EXPECT_EQ(sent(1.0f + 3 * 0x1p-8f, Compression::bf16), 1.0f + 0x1p-6f);  // a tie: to even
  EXPECT_EQ(sent(-1.0f - 0x1.2p-7f, Compression::bf16), -1.0f - 0x1p-7f);
  EXPECT_EQ(sent(3e38f, Compression::bf16), 0x1.c4p127f);
}

TEST(Compression, Fp16RoundsToTheNearestOfElevenBits) {
  EXPECT_EQ(sent(1.0f + 0x1p-11f, Compression::fp16), 1.0f);
  EXPECT_EQ(sent(1.0f + 3 * 0x1p-11f, Compression::fp16), 1.0f + 0x1p-9f);
  EXPECT_EQ(sent(0x1p-24f, Compression::fp16), 0x1p-24f);      // 1024 x: smallest normal
  EXPECT_EQ(sent(0x1.1p-30f, Compression::fp16), 0x1.1p-30f);  // subnormal
  EXPECT_EQ(sent(0x1p-34f, Compression::fp16), 0x1p-34f);      // smallest subnormal
  EXPECT_EQ(sent(0x1p-35f, Compression::fp16), 0.0f);          // a tie: to even
  EXPECT_EQ(sent(0x1.8p-35f, Compression::fp16), 0x1p-34f);
}

TEST(Compression, Fp16TakesLargeValuesForTheLargest) {
  const float largest = 65504.0f / 1024;
  EXPECT_EQ(sent(64.0f, Compression::fp16), largest);
  EXPECT_EQ(sent(-1e9f, Compression::fp16), -largest);
  EXPECT_EQ(sent(3e38f, Compression::fp16), largest);
}

TEST(Compression, ValuesThatAreNotFiniteStaySo) {
  for (const Compression compression : {Compression::bf16, Compression::fp16}) {
    EXPECT_EQ(sent(infinite, compression), infinite);
    EXPECT_EQ(sent(-infinite, compression), -infinite);
    EXPECT_TRUE(std::isnan(sent(std::nanf(""), compression)));
    EXPECT_TRUE(std::isnan(sent(std::bit_cast<float>(0x7f80'0001u), compression)));
    EXPECT_TRUE(std::signbit(sent(-0.0f, compression)));
  }
}

// Ranks round their own sums like those they receive, so all have the same values.
TEST(Compression, RoundingTwiceIsRoundingOnce) {
  for (const Compression compression : {Compression::bf16, Compression::fp16}) {
    Rng random(1, Purpose::noise);
    for (int i = 0; i < 100'000; ++i) {
      const float value = static_cast<float>(std::ldexp(random.uniform() - 0.5, i % 60 - 40));
      const float once = sent(value, compression);
      ASSERT_EQ(sent(once, compression), once) << value;
      if (std::abs(value) < 60 && std::abs(value) > 1e-7f)
        ASSERT_NEAR(once, value,
                    std::abs(value) * (compression == Compression::bf16 ? 0x1p-8f : 0x1p-11f));
    }
  }
}

}  // namespace
}  // namespace lockstep
