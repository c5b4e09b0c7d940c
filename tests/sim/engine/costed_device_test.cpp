#include "sim/engine/costed_device.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "data/data_testing.h"
#include "sim/virtual_time_testing.h"
#include "tensor/device/reference/reference_device.h"
#include "tensor/kernel_testing.h"

namespace lockstep {
namespace {

constexpr int64_t rows = 8, parameters = 100;

DenseSpec dense(int64_t batch = rows) { return {.batch = batch, .in = 3, .out = 4}; }

Sizes sizes_for(int64_t batch) {
  return {.batch = batch,
          .rows = batch,
          .in = 3,
          .out = 4,
          .weights = aligned_floats(12) + aligned_floats(4)};
}

Pass pass_of(int64_t count, bool training) {
  Pass pass;
  pass.rows = count;
  pass.training = training;
  return pass;
}

StepCost costs() {
  StepCost cost;
  cost.kernels = {{text(KernelSpec(dense())), 2, 5}};
  cost.micro_batch = 0.5;
  cost.inference = 0.75;
  cost.norm = 10;
  cost.update = 20;
  cost.add = 0.03;
  cost.copy = 0.02;
  cost.whole_update = 0.5;
  return cost;
}

struct Costed : testing::Test {
  // Seconds that `work` spends on the virtual clock.
  template <typename Work>
  double seconds(const Work& work) {
    const double before = time.seconds();
    work();
    return time.seconds() - before;
  }

  PlainTime time;
  CostedDevice ghost{costs(), rows, parameters, time};
  std::vector<float> values = std::vector<float>(400), others = std::vector<float>(400);
};

TEST_F(Costed, KernelsSpendTheirTimeInProportionToRows) {
  const auto kernel = ghost.prepare(KernelSpec(dense()));
  EXPECT_DOUBLE_EQ(seconds([&] { kernel->forward(pass_of(rows, true)); }), 2);
  EXPECT_DOUBLE_EQ(seconds([&] { kernel->forward(pass_of(2, true)); }), 0.5);
  EXPECT_DOUBLE_EQ(seconds([&] { kernel->backward(pass_of(rows, true)); }), 5);
  EXPECT_DOUBLE_EQ(seconds([&] { kernel->forward(pass_of(rows, false)); }), 1.5);
  EXPECT_EQ(time.micro_batches, 3);  // one per forward pass of the first kernel
}

TEST_F(Costed, ANetworkMayBePreparedForOtherBatches) {
  const auto kernel = ghost.prepare(KernelSpec(dense(1000)));
  EXPECT_DOUBLE_EQ(seconds([&] { kernel->forward(pass_of(1000, true)); }), 250);
}

TEST_F(Costed, AnotherNetworkIsRefused) {
  const auto prepare = [&] {
    ghost.prepare(KernelSpec(DenseSpec{.batch = rows, .in = 3, .out = 5}));
  };
  expect_says(error_of<Failure>(prepare), {"another network", "calibrate"});
}

TEST_F(Costed, LossAndUpdateSpendTheirTime) {
  const auto loss = ghost.prepare(LossSpec{});
  EXPECT_DOUBLE_EQ(seconds([&] { loss->run(4, nullptr, {}, nullptr, 1); }), 0.25);
  const auto update = ghost.prepare(UpdateSpec{});
  const auto update_of = [&](size_t floats) {
    return seconds([&] { update->run(std::span(values).first(floats), others, {}, 1, 1, 1); });
  };
  EXPECT_DOUBLE_EQ(update_of(parameters), 20);
  EXPECT_DOUBLE_EQ(update_of(parameters / 2), 10);
  EXPECT_DOUBLE_EQ(update_of(400), 200);  // a whole array, at whole_update per float
}

TEST_F(Costed, WorkOnArraysSpendsTimePerFloat) {
  const std::span<float> few = std::span(values).first(60), from = std::span(others).first(60);
  EXPECT_DOUBLE_EQ(seconds([&] { ghost.add(few, from); }), 1.8);
  EXPECT_DOUBLE_EQ(seconds([&] { ghost.scale(few, 2); }), 1.2);
  EXPECT_DOUBLE_EQ(seconds([&] { ghost.copy(from, few); }), 1.2);
  EXPECT_DOUBLE_EQ(seconds([&] { ghost.copy(others, values); }), 8);  // a whole array
  const size_t end = 60;
  double sum = 1;
  EXPECT_DOUBLE_EQ(seconds([&] { ghost.squared_norms(few, {&end, 1}, {&sum, 1}); }), 6);
  EXPECT_EQ(sum, 0);
}

TEST_F(Costed, WithADeviceInsideTheResultsAreItsOwn) {
  ReferenceDevice reference;
  CostedDevice costed(costs(), rows, parameters, time, &reference);
  const Sizes sizes = sizes_for(rows);
  const Inputs inputs(sizes);
  const Outputs expected =
      run_kernel(*ReferenceDevice().prepare(KernelSpec(dense())), sizes, inputs, true, false);
  const auto kernel = costed.prepare(KernelSpec(dense()));
  Outputs found;
  EXPECT_DOUBLE_EQ(seconds([&] { found = run_kernel(*kernel, sizes, inputs, true, false); }),
                   2 + 5);
  EXPECT_EQ(found.y, expected.y);
  EXPECT_EQ(found.dx, expected.dx);
}

}  // namespace
}  // namespace lockstep
