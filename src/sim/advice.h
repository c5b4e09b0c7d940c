#pragma once

#include <string>
#include <vector>

#include "sim/predictor.h"

namespace lockstep {

// A possible change to a run and its simulated effect.
struct Advice {
  std::string change;        // as text: options to set, or hardware to use
  double epoch_seconds = 0;  // simulated, with the change
};

struct Advices {
  double epoch_seconds = 0;             // simulated, without changes
  std::vector<Advice> changes;          // fastest first
  std::vector<std::string> impossible;  // changes that failed, each with the reason
};

// Simulates the configuration on `ranks` ranks of `hosts` nodes, without changes and with each of
// several changes.
Advices advise(Predictor& predictor, const RunConfig& config, int64_t ranks, int64_t hosts);

}  // namespace lockstep
