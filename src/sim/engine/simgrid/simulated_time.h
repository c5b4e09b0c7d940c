#pragma once

#include <simgrid/s4u.hpp>

#include "base/clock.h"

namespace lockstep {

// A rank's clock in SimGrid. Computing time is accumulated and passed to the engine only before
// something that other ranks can see.
class SimulatedTime final : public VirtualClock {
 public:
  static constexpr double flops_per_second = 1e9;  // of a core of speed 1

  // `speed`: of the rank's node, to tell the time while computing is not yet passed to the engine.
  explicit SimulatedTime(double speed) : speed_(speed) {}

  double seconds() const override { return simgrid::s4u::Engine::get_clock() + pending_ / speed_; }
  void spend(double seconds) override { pending_ += seconds; }
  void catch_up() override {
    if (pending_ <= 0) return;
    const double flops = pending_ * flops_per_second;
    pending_ = 0;
    simgrid::s4u::this_actor::execute(flops);
  }

 private:
  double speed_;
  double pending_ = 0;  // seconds on a core of speed 1
};

}  // namespace lockstep
