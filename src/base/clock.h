#pragma once

namespace lockstep {

// Source of time. A simulated run has its own clock.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double seconds() const = 0;  // since some fixed moment
};

class WallClock final : public Clock {
 public:
  double seconds() const override;
};

// A clock that advances only through spend().
class VirtualClock : public Clock {
 public:
  virtual void spend(double seconds) = 0;
  virtual void catch_up() {}          // makes the time spent so far visible to others
  virtual void next_micro_batch() {}  // start of a micro-batch: noise is redrawn
};

}  // namespace lockstep
