#pragma once

#include "base/clock.h"

namespace lockstep {

// A virtual clock that counts seconds and micro-batches.
class PlainTime final : public VirtualClock {
 public:
  double seconds() const override { return seconds_; }
  void spend(double seconds) override { seconds_ += seconds; }
  void next_micro_batch() override { ++micro_batches; }

  int micro_batches = 0;

 private:
  double seconds_ = 0;
};

}  // namespace lockstep
