#pragma once

#include "sim/engine/costed_device.h"
#include "sim/engine/sleeping_clock.h"
#include "sim/predictor.h"

namespace lockstep {

// Computing of one rank of a point that is not done: kernels sleep for the undisturbed time that
// predictions take for them. Messages between ranks stay real. So more ranks than cores can be
// measured without disturbing each other; results must say so.
class EmulatedCompute {
 public:
  // The predictor's profile must have the costs of the point (Predictor::learn_costs).
  EmulatedCompute(const Predictor& predictor, const SimulatedPoint& point, int rank);
  EmulatedCompute(const EmulatedCompute&) = delete;

  Device& device() { return device_; }

 private:
  EmulatedCompute(const Predictor& predictor, const SimulatedPoint& point, int rank,
                  const NetworkCosts& costs);

  SleepingClock clock_;
  CostedDevice device_;
};

}  // namespace lockstep
