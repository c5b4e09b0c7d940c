#include "tensor/device/guarded/guarded_device.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "tensor/device/cpu/cpu_device.h"
#include "tensor/host_mirror.h"

namespace lockstep {
namespace {

class Guarded : public testing::Test {
 protected:
  GuardedDevice device_{std::make_unique<CpuDevice>(1)};
  DeviceMemory memory_ = device_.allocate(10 * sizeof(float));
};

using GuardedDeathTest = Guarded;

TEST_F(GuardedDeathTest, FaultsWhenTheHostReads) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH({ [[maybe_unused]] const volatile float value = memory_.floats()[3]; }, "");
}

TEST_F(GuardedDeathTest, FaultsWhenTheHostWrites) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(memory_.floats()[3] = 1, "");
}

TEST_F(Guarded, RefusesMemoryOfTheWrongSide) {
  std::vector<float> host(10);
  EXPECT_THROW(device_.fill(host, 1), Failure);
  EXPECT_THROW(device_.add(memory_.floats(), host), Failure);
  EXPECT_THROW(device_.download(memory_.floats(), memory_.floats()), Failure);
  EXPECT_THROW(device_.upload(memory_.floats(), memory_.floats()), Failure);
}

TEST_F(Guarded, AllocatesZeroedMemoryAndComputesOnIt) {
  std::vector<float> host(10, 7.0f);
  device_.download(memory_.floats(), host);
  EXPECT_EQ(host, std::vector<float>(10, 0.0f));
  std::iota(host.begin(), host.end(), 1.0f);
  device_.upload(host, memory_.floats());
  const DeviceMemory other = device_.allocate(10 * sizeof(float));
  device_.copy(memory_.floats(), other.floats());
  device_.add(memory_.floats().first(5), other.floats().last(5));
  device_.scale(memory_.floats().last(2), 2);
  device_.download(memory_.floats(), host);
  EXPECT_EQ(host, (std::vector<float>{7, 9, 11, 13, 15, 6, 7, 8, 18, 20}));
}

TEST_F(Guarded, MemoryMayOutliveTheDevice) {
  DeviceMemory kept;
  {
    GuardedDevice device(std::make_unique<CpuDevice>(1));
    kept = device.allocate(100);
  }
  EXPECT_EQ(kept.bytes(), 100u);
}

TEST(HostMirror, IsTheMemoryItselfWhereTheDeviceSharesIt) {
  CpuDevice device(1);
  const DeviceMemory memory = device.allocate(4 * sizeof(float));
  const HostMirror mirror(&device, memory.floats());
  EXPECT_EQ(mirror.floats().data(), memory.floats().data());
}

TEST_F(Guarded, AMirrorTransfersOnlyTheRequestedPart) {
  device_.fill(memory_.floats(), 1);
  const HostMirror mirror(&device_, memory_.floats());
  EXPECT_EQ(mirror.download(2, 3)[0], 1);
  EXPECT_EQ(mirror.floats()[0], 0);
  mirror.floats()[4] = mirror.floats()[9] = 5;
  mirror.upload(4, 1);
  EXPECT_EQ(mirror.download()[4], 5);
  EXPECT_EQ(mirror.floats()[9], 1);
}

}  // namespace
}  // namespace lockstep
