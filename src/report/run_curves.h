#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

using Curve = std::vector<std::pair<double, double>>;

// Curves of metrics.jsonl over steps ("loss") and epochs ("accuracy", "eval_loss", "seconds"), each
// thinned to about `most_points`. Skips lines that cannot be read: the last line of a killed run
// may be incomplete.
std::map<std::string, Curve> read_curves(const fs::path& folder, size_t most_points);

// The names of all curves there may be, and whether their x is "step" or "epoch".
std::map<std::string, std::string> curve_axes();

// An activity of a rank.
struct LaneEvent {
  int64_t rank = 0;
  std::string name;
  double start_ms = 0, length_ms = 0;
};
// Three steps from the middle of the run's trace; empty if it has fewer than five.
std::vector<LaneEvent> read_lanes(const fs::path& folder);

}  // namespace lockstep
