// Dropout in a network: rates, and how masks depend on sample, seed, epoch and layer.

#include <set>

#include "nn/nn_testing.h"

namespace lockstep {
namespace {

// The output of a single dropout layer for an input of ones.
std::vector<float> dropped(const std::string& line, int64_t units, const SampleKeys& keys,
                           bool training = true) {
  const Network network({line}, {units});
  const auto device = make_device({.name = "cpu"});
  const Parameters parameters(network);
  const auto rows = static_cast<int64_t>(keys.ids.size());
  Program program(network, LossKind::mean_squared_error, *device, rows);
  const std::vector<float> x(static_cast<size_t>(rows * units), 1.0f);
  program.forward(parameters, x.data(), rows, training, keys);
  const auto y = program.outputs();
  return {y.begin(), y.end()};
}

TEST(Dropout, DropsNothingWhileEvaluating) {
  EXPECT_EQ(dropped("dropout 0.5", 100, Keys(3), false), std::vector<float>(300, 1.0f));
}

TEST(Dropout, DropsNothingAtRateZero) {
  EXPECT_EQ(dropped("dropout 0", 100, Keys(3)), std::vector<float>(300, 1.0f));
}

TEST(Dropout, DropsAtItsRateAndScalesTheRest) {
  for (const double rate : {0.1, 0.5, 0.9}) {
    const std::vector<float> y = dropped(fmt::format("dropout {}", rate), 10'000, Keys(2));
    double zeros = 0;
    for (const float value : y) {
      zeros += value == 0;
      if (value != 0) {
        EXPECT_NEAR(value, 1 / (1 - rate), 1e-5);
      }
    }
    EXPECT_NEAR(zeros / 20'000, rate, 0.012);
  }
}

TEST(Dropout, SamplesDropDifferentUnits) {
  const std::vector<float> y = dropped("dropout 0.5", 64, Keys(2));
  EXPECT_FALSE(std::equal(y.begin(), y.begin() + 64, y.begin() + 64));
}

TEST(Dropout, TheMaskOfASampleDoesNotDependOnItsRow) {
  const std::vector<int64_t> ids = {5, 9}, swapped = {9, 5};
  const std::vector<float> a = dropped("dropout 0.5", 64, {.seed = 1, .epoch = 2, .ids = ids});
  const std::vector<float> b = dropped("dropout 0.5", 64, {.seed = 1, .epoch = 2, .ids = swapped});
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 64, b.begin() + 64));
  EXPECT_TRUE(std::equal(a.begin() + 64, a.end(), b.begin()));
}

TEST(Dropout, TheMaskDependsOnSeedAndEpoch) {
  const std::vector<int64_t> ids = {5};
  const auto with = [&](uint64_t seed, uint64_t epoch) {
    return dropped("dropout 0.5", 64, {.seed = seed, .epoch = epoch, .ids = ids});
  };
  EXPECT_EQ(with(1, 1), with(1, 1));
  EXPECT_NE(with(1, 1), with(2, 1));
  EXPECT_NE(with(1, 1), with(1, 2));
}

TEST(Dropout, TwoLayersOfANetworkDropDifferentUnits) {
  const Network network({"dropout 0.5", "dropout 0.5"}, {10'000});
  const auto device = make_device({.name = "cpu"});
  const Parameters parameters(network);
  Program program(network, LossKind::mean_squared_error, *device, 1);
  const std::vector<float> x(10'000, 1.0f);
  program.forward(parameters, x.data(), 1, true, Keys(1));
  const auto y = program.outputs();
  EXPECT_NEAR(static_cast<double>(std::count(y.begin(), y.end(), 0.0f)) / 10'000, 0.75, 0.02);
}

// The mask of a dropout layer inside `depth` residual blocks, which are layer `place` of a network.
// Its input is 256 ones, and each residual block adds one.
std::vector<bool> kept_inside(int place, int depth, bool in_shortcut = false) {
  std::vector<std::string> lines(static_cast<size_t>(place - 1), "relu");
  std::string line = in_shortcut ? "residual(relu | dropout 0.5)" : "residual(dropout 0.5)";
  for (int around = 1; around < depth; ++around) line = "residual(" + line + ")";
  lines.push_back(line);
  const Network network(lines, {256});
  const auto device = make_device({.name = "cpu"});
  const Parameters parameters(network);
  Program program(network, LossKind::mean_squared_error, *device, 1);
  const std::vector<float> x(256, 1.0f);
  std::vector<bool> kept;
  program.forward(parameters, x.data(), 1, true, Keys(1));
  for (const float y : program.outputs()) kept.push_back(y > static_cast<float>(depth) + 0.5f);
  return kept;
}

TEST(Dropout, LayersNestedThreeAndFourDeepDropDifferentUnits) {
  std::set<std::vector<bool>> masks;
  size_t layers = 0;
  for (const int place : {1, 4, 8, 12, 16})
    for (const int depth : {1, 2, 3, 4, 8})
      for (const bool in_shortcut : {false, true}) {
        masks.insert(kept_inside(place, depth, in_shortcut));
        ++layers;
      }
  EXPECT_EQ(masks.size(), layers);
}

TEST(Dropout, LayersNestedUpToTwoDeepKeepTheMasksOfEarlierVersions) {
  for (const int place : {1, 7})
    for (const int depth : {1, 2}) {
      const uint64_t layer = static_cast<uint64_t>(place) << (10 * depth);
      const Rng rng(3, Purpose::dropout, layer << 32 ^ 1, 0);
      std::vector<bool> expected;
      for (uint64_t unit = 0; unit < 256; ++unit)
        expected.push_back((rng.block(unit / 8)[unit % 8 / 2] >> (unit % 2 ? 16 : 0) & 0xffff) >=
                           0x8000);
      EXPECT_EQ(kept_inside(place, depth), expected) << place << ", " << depth;
    }
}

}  // namespace
}  // namespace lockstep
