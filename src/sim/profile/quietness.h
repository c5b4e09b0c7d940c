#pragma once

#include <string>

namespace lockstep {

// Whether the machine was left alone while something was measured.
struct Quietness {
  std::string why;      // what disturbed it; empty: nothing did
  double slowdown = 1;  // how many times as long as it should the measurement may have taken

  bool quiet() const { return why.empty(); }
};

}  // namespace lockstep
