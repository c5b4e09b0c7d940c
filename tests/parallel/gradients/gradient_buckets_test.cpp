#include "parallel/gradients/gradient_buckets.h"

#include <gtest/gtest.h>

#include "comm/backend/self.h"
#include "comm/backend/threads.h"

namespace lockstep {
namespace {

// Three layers with 200, 315 and 160 parameters.
class Buckets : public ::testing::Test {
 protected:
  Buckets() : network_({"dense 20", "dense 15", "dense 10"}, {9}), parameters_(network_) {}

  // Acts like a backward pass that completes all layers, the last first.
  void pass(GradientBuckets& buckets) {
    buckets.loss_done({2.5, 3});
    const auto& entries = parameters_.entries();
    for (size_t i = entries.size(); i-- > 0;) {
      const auto begin = static_cast<size_t>(entries[i].offset);
      const size_t end = i + 1 < entries.size() ? static_cast<size_t>(entries[i + 1].offset)
                                                : parameters_.gradients().size();
      buckets.layer_done("layer", true, parameters_.gradients().subspan(begin, end - begin));
    }
  }

  Network network_;
  Parameters parameters_;
  WallClock clock_;
};

TEST_F(Buckets, EveryFloatIsReducedOnceAndTheTailFirst) {
  for (const int64_t floats : {int64_t{1}, int64_t{64}, int64_t{300}, INT64_MAX}) {
    std::vector<std::span<float>> reduced;
    const auto self = make_self_communicator();
    GradientBuckets buckets(
        parameters_, floats,
        [&](std::span<float> part) {
          reduced.push_back(part);
          return self->all_reduce(part, part);
        },
        clock_);
    buckets.arm({{1.0, 2}, 7, false});
    pass(buckets);
    buckets.finish();
    const std::span<float> all = parameters_.gradients_and_tail();
    size_t sum = 0;
    const float* end = all.data() + all.size();
    for (const std::span<float> part : reduced) {  // adjacent, from the end to the start
      EXPECT_EQ(part.data() + part.size(), end);
      end = part.data();
      sum += part.size();
    }
    EXPECT_EQ(sum, all.size()) << floats;
    EXPECT_EQ(reduced.size() == 1, floats == INT64_MAX) << floats;
    for (size_t i = 0; i + 1 < reduced.size(); ++i)
      EXPECT_GE(reduced[i].size(), static_cast<size_t>(floats));
  }
}

TEST_F(Buckets, FiguresOfTheLastMicroBatchAreAddedToThoseBefore) {
  const auto self = make_self_communicator();
  GradientBuckets buckets(
      parameters_, 64, [&](std::span<float> part) { return self->all_reduce(part, part); }, clock_);
  buckets.arm({{1.0, 2}, 7, true});
  pass(buckets);
  buckets.finish();
  EXPECT_EQ(buckets.tail().sums.loss, 3.5);
  EXPECT_EQ(buckets.tail().sums.correct, 5);
  EXPECT_EQ(buckets.tail().rows, 7);
  EXPECT_TRUE(buckets.tail().stop);
}

TEST_F(Buckets, NothingIsReducedBeforeTheLastMicroBatch) {
  const auto self = make_self_communicator();
  int reductions = 0;
  GradientBuckets buckets(
      parameters_, 1,
      [&](std::span<float> part) {
        ++reductions;
        return self->all_reduce(part, part);
      },
      clock_);
  pass(buckets);  // not armed
  EXPECT_EQ(reductions, 0);
}

TEST(GradientBuckets, SumsOfRanksDoNotDependOnTheSizeOfBuckets) {
  std::vector<std::vector<float>> results;
  for (const int64_t floats : {int64_t{16}, int64_t{128}, INT64_MAX}) {
    results.emplace_back();
    run_thread_ranks(3, 60, [&](Communicator& ranks) {
      const Network network({"dense 20", "dense 10"}, {9});
      const Parameters parameters(network);
      const WallClock clock;
      const std::span<float> gradients = parameters.gradients();
      for (size_t i = 0; i < gradients.size(); ++i)
        gradients[i] = 0.1f * static_cast<float>(i % 17) * static_cast<float>(ranks.rank() + 1);
      GradientBuckets buckets(
          parameters, floats, [&](std::span<float> part) { return ranks.all_reduce(part, part); },
          clock);
      buckets.arm({{double(ranks.rank()), 1}, 5, ranks.rank() == 1});
      buckets.loss_done({0, 0});
      for (size_t i = parameters.entries().size(); i-- > 0;)
        buckets.layer_done("layer", true,
                           gradients.subspan(static_cast<size_t>(parameters.entries()[i].offset)));
      buckets.finish();
      EXPECT_EQ(buckets.tail().sums.loss, 3);
      EXPECT_EQ(buckets.tail().rows, 15);
      EXPECT_TRUE(buckets.tail().stop);
      if (ranks.rank() == 0) results.back().assign(gradients.begin(), gradients.end());
    });
  }
  EXPECT_EQ(results[0], results[2]);
  EXPECT_EQ(results[1], results[2]);
}

TEST(StepTail, CarriesDoublesAndCountsThroughFloats) {
  std::vector<float> tail(Parameters::tail_floats);
  const StepTail sent{{12345.678901234, 16777215}, 1000000, true};
  sent.write(tail);
  const StepTail read = StepTail::read(tail);
  EXPECT_NEAR(read.sums.loss, 12345.678901234, 1e-9);
  EXPECT_EQ(read.sums.correct, 16777215);
  EXPECT_EQ(read.rows, 1000000);
  EXPECT_TRUE(read.stop);
}

}  // namespace
}  // namespace lockstep
