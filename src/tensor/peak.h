#pragma once

#include "base/clock.h"

namespace lockstep {

// The best that this machine does on a large matrix product now, in flops a second, all threads
// together. Takes about a tenth of a second.
double sgemm_peak(int threads, const Clock& clock);

}  // namespace lockstep
