#include "base/clock.h"

#include <chrono>

namespace lockstep {

double WallClock::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lockstep
