#pragma once

namespace lockstep {

// Where time comes from. A simulated run has a clock of its own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual double seconds() const = 0;  // since some fixed moment
};

class WallClock final : public Clock {
 public:
  double seconds() const override;
};

// A clock that somebody moves: time passes only where it is spent.
class VirtualClock : public Clock {
 public:
  virtual void spend(double seconds) = 0;
  virtual void catch_up() {}          // others see what was spent so far
  virtual void next_micro_batch() {}  // start of a micro-batch: noise is redrawn
};

}  // namespace lockstep
