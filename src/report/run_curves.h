#pragma once

#include <map>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

using Curve = std::vector<std::pair<double, double>>;

// What metrics.jsonl says over steps ("loss") and epochs ("accuracy", "eval_loss", "seconds"), each
// thinned to about `most_points`. Lines that cannot be read are passed over: the last one of a
// run that was killed is cut off.
std::map<std::string, Curve> read_curves(const fs::path& folder, size_t most_points);

// What a rank did for a while.
struct LaneEvent {
  int64_t rank = 0;
  std::string name;
  double start_ms = 0, length_ms = 0;
};
// Three steps from the middle of the run's trace; empty where it has none.
std::vector<LaneEvent> read_lanes(const fs::path& folder);

}  // namespace lockstep
