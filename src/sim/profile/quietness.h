#pragma once

#include <string>

namespace lockstep {

// Whether a measurement was undisturbed.
struct Quietness {
  std::string why;      // what disturbed it; empty: nothing did
  double slowdown = 1;  // factor by which the measured time may be too long

  bool quiet() const { return why.empty(); }
};

}  // namespace lockstep
