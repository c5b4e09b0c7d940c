#pragma once

#include <cmath>

#include "base/clock.h"
#include "base/rng.h"

namespace lockstep {

// Computing takes longer or shorter from step to step: log-normal, with a mean of 1.
class NoisyTime final : public VirtualClock {
 public:
  NoisyTime(VirtualClock& inside, double noise, int rank)
      : inside_(inside), noise_(noise), rng_(static_cast<uint64_t>(rank) + 1, Purpose::noise) {}

  double seconds() const override { return inside_.seconds(); }
  void spend(double seconds) override { inside_.spend(seconds * factor_); }
  void next_piece() override {
    if (noise_ > 0) factor_ = std::exp(noise_ * rng_.normal() - noise_ * noise_ / 2);
  }

 private:
  VirtualClock& inside_;
  double noise_;
  Rng rng_;
  double factor_ = 1;
};

}  // namespace lockstep
