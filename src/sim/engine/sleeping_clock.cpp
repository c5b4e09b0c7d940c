#include "sim/engine/sleeping_clock.h"

#include <chrono>
#include <thread>

namespace lockstep {

void SleepingClock::spend(double seconds) {
  constexpr double shortest = 100e-6;  // the kernel may oversleep by half of this
  owed_ += seconds / speed_;
  if (owed_ < shortest) return;
  const double start = wall_.seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(owed_));
  owed_ -= wall_.seconds() - start;
}

}  // namespace lockstep
