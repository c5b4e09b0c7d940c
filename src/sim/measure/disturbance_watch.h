#pragma once

#include "sim/profile/quietness.h"

namespace lockstep {

// Time that the kernel has counted on the cores this process may use. Seconds.
struct CoreSeconds {
  double busy = 0;    // with any program
  double stolen = 0;  // by the host of a virtual machine
  double own = 0;     // this process and its ended child processes
};

// Time of a fixed computation, repeated on all cores at the same time. Seconds per repetition.
struct Arithmetic {
  double fastest = 0;  // undisturbed
  double mean = 0;     // longer if programs share a core
};

// What a DisturbanceWatch observes; tests use a fake machine.
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

// Tells whether a measurement was disturbed: by other programs, by the host of a virtual machine,
// or by something that only shows in the times of arithmetic and of the measured steps.
class DisturbanceWatch {
 public:
  // `fastest`: fastest known Arithmetic; 0: unknown.
  explicit DisturbanceWatch(const ObservedMachine& machine, double fastest = 0)
      : machine_(machine), fastest_(fastest) {}

  void begin();
  // `spread`: relative excess of the median of the measured steps over an undisturbed step.
  Quietness end(double spread = 0);

  double fastest() const { return fastest_; }
  double now() const { return machine_.now(); }

 private:
  const ObservedMachine& machine_;
  double fastest_;
  double began_ = 0;
  CoreSeconds before_;
  Arithmetic first_;
};

// Short check, made before a disturbed measurement is repeated.
bool is_quiet_now(const ObservedMachine& machine, double fastest_arithmetic);

// Measures until undisturbed, at most `attempts` times, and does not repeat after 10 seconds.
// `measure` returns the spread of its samples; `keep` is called after each measurement with its
// quietness.
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
