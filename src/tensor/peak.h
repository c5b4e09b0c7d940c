#pragma once

#include "base/clock.h"

namespace lockstep {

// Peak throughput of matrix products on this machine now, in flops per second over all threads.
// Takes about 0.1 s.
double sgemm_peak(int threads, const Clock& clock);

}  // namespace lockstep
