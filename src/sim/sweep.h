#pragma once

#include "sim/predictor.h"

namespace lockstep {

// Limits on the results of a sweep.
struct SweepLimit {
  double seconds = 0;    // total time; then fewest nodes first. 0: no limit, fastest first
  int64_t nodes = 0;     // at most; 0: no limit
  double memory_gb = 0;  // per rank, at most; 0: memory of the nodes
};
// Sets one limit: "time=600", "nodes=4" or "memory_gb=2".
void set_limit(SweepLimit& limit, const std::string& assignment);

struct SweepSpace {
  std::vector<std::string> strategies;
  std::vector<int64_t> ranks, batches;
  std::vector<int> threads;
  std::vector<Compression> compressions;
};

struct SweepEntry {
  std::string strategy;
  Compression compress = Compression::none;
  int64_t ranks = 1, nodes = 1, batch = 0, global_batch = 0;
  int threads = 1;
  double step_seconds = 0, total_seconds = 0, memory_bytes = 0;
};

// Predicts every combination that fits, best first. Points that `file` already has, from an
// interrupted sweep of the same configuration, profile and cluster, are not simulated again.
std::vector<SweepEntry> sweep(const RunConfig& config, Predictor& predictor,
                              const SweepSpace& space, const SweepLimit& limit,
                              const fs::path& file, const Say& say);

}  // namespace lockstep
