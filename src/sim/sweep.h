#pragma once

#include "sim/predictor.h"

namespace lockstep {

// What the best way must keep to.
struct SweepLimit {
  double seconds = 0;    // total time: then the fewest nodes win. 0: the least time wins
  int64_t nodes = 0;     // at most; 0: all
  double memory_gb = 0;  // of a rank, at most; 0: what nodes have
};
// "time=600", "nodes=4", "memory_gb=2".
void set_limit(SweepLimit& limit, const std::string& assignment);

struct SweepSpace {
  std::vector<std::string> strategies;
  std::vector<int64_t> ranks, batches;
  std::vector<int> threads;
};

struct SweepEntry {
  std::string strategy;
  int64_t ranks = 1, nodes = 1, batch = 0, global_batch = 0;
  int threads = 1;
  double step_seconds = 0, total_seconds = 0, memory_bytes = 0;
};

// Predicts every combination that fits, best first. What `file` has of an interrupted sweep of the
// same space is kept.
std::vector<SweepEntry> sweep(const RunConfig& config, Predictor& predictor,
                              const SweepSpace& space, const SweepLimit& limit,
                              const fs::path& file, const Say& say);

}  // namespace lockstep
