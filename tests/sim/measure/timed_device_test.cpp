#include "sim/measure/timed_device.h"

#include <gtest/gtest.h>

#include "tensor/device/host_memory_device.h"

namespace lockstep {
namespace {

// Counts operations on arrays; prepares no kernels.
class CountingDevice final : public HostMemoryDevice {
 public:
  std::unique_ptr<Kernel> prepare(const KernelSpec&) override { return nullptr; }
  std::unique_ptr<LossKernel> prepare(const LossSpec&) override { return nullptr; }
  std::unique_ptr<UpdateKernel> prepare(const UpdateSpec&) override { return nullptr; }
  void add_scaled(std::span<float>, std::span<const float>, float) override { ++adds; }
  void scale(std::span<float>, float) override { ++scales; }
  void copy(std::span<const float>, std::span<float>) override { ++copies; }
  void dot_products(std::span<const float>, std::span<const float>, std::span<const size_t>,
                    std::span<double> sums) override {
    sums[0] = ++norms;
  }
  std::string description() const override { return "counting"; }

  int adds = 0, scales = 0, copies = 0, norms = 0;
};

TEST(TimedDevice, LeavesWorkOnArraysToTheDeviceInside) {
  CountingDevice inside;
  const WallClock clock;
  TimedDevice timed(inside, clock);
  std::vector<float> a(3), b(3);
  timed.add(a, b);
  timed.scale(a, 2);
  timed.copy(a, b);
  const size_t end = 3;
  double sum = 0;
  timed.squared_norms(a, {&end, 1}, {&sum, 1});
  EXPECT_EQ(sum, 1);
  EXPECT_EQ(inside.adds, 1);
  EXPECT_EQ(inside.scales, 1);
  EXPECT_EQ(inside.copies, 1);
  EXPECT_EQ(inside.norms, 1);
  EXPECT_EQ(timed.norms().size(), 1u);
  EXPECT_EQ(timed.description(), "counting");
}

}  // namespace
}  // namespace lockstep
