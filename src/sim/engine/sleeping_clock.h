#pragma once

#include "base/clock.h"

namespace lockstep {

// Real time in which computing is replaced by sleeping: spend() sleeps. Sleeps longer than asked
// for are made up for by the next ones.
class SleepingClock final : public VirtualClock {
 public:
  // `speed` of the core, relative to the machine whose times are spent.
  explicit SleepingClock(double speed) : speed_(speed) {}
  double seconds() const override { return wall_.seconds(); }
  void spend(double seconds) override;

 private:
  WallClock wall_;
  double speed_;
  double owed_ = 0;  // seconds of computing that have not been slept for; negative: slept too long
};

}  // namespace lockstep
