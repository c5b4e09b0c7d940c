#pragma once

#include <string>
#include <vector>

#include "sim/predictor.h"

namespace lockstep {

// Something one could do about a run, and what it would gain.
struct Advice {
  std::string change;        // in words: options to give, or hardware to have
  double epoch_seconds = 0;  // simulated, with the change
};

struct Advices {
  double epoch_seconds = 0;             // simulated, as the run is
  std::vector<Advice> changes;          // quickest first
  std::vector<std::string> impossible;  // changes, each with the reason
};

// Simulates the configuration on `ranks` ranks of `hosts` nodes, and what each of some changes to
// it would make of it.
Advices advise(Predictor& predictor, const RunConfig& config, int64_t ranks, int64_t hosts);

}  // namespace lockstep
