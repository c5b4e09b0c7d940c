#pragma once

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/rng.h"

namespace lockstep {

// Standard deviation of a log-normal factor with mean 1 and sigma `noise`.
inline double deviation_of(double noise) { return std::sqrt(std::expm1(noise * noise)); }

// Multiplies the computing time of each micro-batch by a log-normal factor with mean 1. The factors
// depend only on seed, rank and micro-batch.
class NoisyTime final : public VirtualClock {
 public:
  // `standing_for`: number of ranks that this one stands for. They wait for each other, so the
  // largest of their factors is used.
  NoisyTime(VirtualClock& inside, double noise, uint64_t seed, int rank, int64_t standing_for = 1)
      : inside_(inside),
        noise_(noise),
        standing_for_(standing_for),
        rng_(seed, Purpose::noise, static_cast<uint64_t>(rank) + 1) {}

  double seconds() const override { return inside_.seconds(); }
  void spend(double seconds) override { inside_.spend(seconds * factor_); }
  void catch_up() override { inside_.catch_up(); }
  void next_micro_batch() override {
    if (noise_ <= 0) return;
    double slowest = rng_.normal();
    for (int64_t other = 1; other < standing_for_; ++other)
      slowest = std::max(slowest, rng_.normal());
    factor_ = std::exp(noise_ * slowest - noise_ * noise_ / 2);
  }

 private:
  VirtualClock& inside_;
  double noise_;
  int64_t standing_for_;
  Rng rng_;
  double factor_ = 1;
};

}  // namespace lockstep
