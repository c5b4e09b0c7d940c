#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"

namespace lockstep {

// How far a run has come.
struct Position {
  int64_t epoch = 1;        // being worked on, from 1
  int64_t step = 0;         // done within it
  int64_t global_step = 0;  // done in all
  double epoch_loss = 0;    // sums over the epoch so far
  int64_t epoch_correct = 0, epoch_samples = 0;
  double best_loss = 0;
  int64_t best_epoch = 0;
};

// All that a rank needs to go on as if nothing had happened: where it was, arrays and counters.
struct Checkpoint {
  Position at;
  std::map<std::string, std::vector<float>> arrays;
  std::map<std::string, int64_t> counters;
};

// Checkpoints of a run: checkpoints/step-<n>/rank-<r>.safetensors, and latest.json, which names
// the newest once all of its files are on the disk.
fs::path checkpoint_file(const fs::path& folder, int64_t global_step, int rank);
void save_checkpoint(const fs::path& path, const Checkpoint& checkpoint);
Checkpoint load_checkpoint(const fs::path& path);

struct LatestCheckpoint {
  int64_t global_step = 0;
  int ranks = 1;       // of the run
  int files = 1;       // one, or one a rank
  std::string config;  // of the run, without what may change when it is resumed
};
// Also removes the checkpoints before it.
void announce_checkpoint(const fs::path& folder, const LatestCheckpoint& latest);
LatestCheckpoint latest_checkpoint(const fs::path& folder);

}  // namespace lockstep
