#pragma once

#include "sim/profile/quietness.h"

namespace lockstep {

// What the kernel has counted so far on the cores that this process may use. Seconds.
struct CoreSeconds {
  double busy = 0;    // with any program
  double stolen = 0;  // by the host of a virtual machine
  double own = 0;     // this process, and those it started that have ended
};

// The same arithmetic over and over on all cores at once. Seconds of one time.
struct Arithmetic {
  double quickest = 0;  // undisturbed
  double mean = 0;      // longer where programs take turns on a core
};

// Where a DisturbanceWatch looks; tests have a machine of their own.
class ObservedMachine {
 public:
  virtual ~ObservedMachine() = default;
  virtual int cores() const = 0;
  virtual double now() const = 0;
  virtual CoreSeconds core_seconds() const = 0;
  virtual Arithmetic arithmetic() const = 0;
};

class ThisMachine final : public ObservedMachine {
 public:
  int cores() const override;
  double now() const override;
  CoreSeconds core_seconds() const override;
  Arithmetic arithmetic() const override;  // takes about 80 ms
};

// Tells whether a measurement was disturbed: by other programs, by the host, or by something that
// only shows in how long arithmetic and the measured steps themselves take.
class DisturbanceWatch {
 public:
  // `quickest`: of the arithmetic, as far as known; 0: not yet.
  explicit DisturbanceWatch(const ObservedMachine& machine, double quickest = 0)
      : machine_(machine), quickest_(quickest) {}

  void begin();
  // `spread`: how much longer than an undisturbed one the median of the measured steps was.
  Quietness end(double spread = 0);

  double quickest() const { return quickest_; }
  double now() const { return machine_.now(); }

 private:
  const ObservedMachine& machine_;
  double quickest_;
  double began_ = 0;
  CoreSeconds before_;
  Arithmetic first_;
};

// A short look, before something is measured again that was disturbed the last time.
bool is_quiet_now(const ObservedMachine& machine, double quickest_arithmetic);

// Measures until nothing disturbs, a few times at most and not again after 10 seconds. `measure`
// returns the spread of what it measured; `keep` takes it up, knowing how quiet it was.
template <typename Measure, typename Keep>
void measure_undisturbed(DisturbanceWatch& watch, int attempts, Measure measure, Keep keep) {
  constexpr double enough_seconds = 10;
  const double start = watch.now();
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0 && watch.now() - start > enough_seconds) return;
    watch.begin();
    const double spread = measure();
    const Quietness quietness = watch.end(spread);
    keep(quietness);
    if (quietness.quiet()) return;
  }
}

}  // namespace lockstep
