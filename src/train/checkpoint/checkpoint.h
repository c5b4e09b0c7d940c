#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "os/files.h"

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
  double first_loss = 0;  // of the run's first step; 0: none was made, or not known
  double last_loss = 0, last_accuracy = 0;  // training figures of the epoch before this one
};

// All that a rank needs to go on as if nothing had happened: where it was, arrays and counters.
struct Checkpoint {
  Position at;
  std::map<std::string, std::vector<float>> arrays;
  std::map<std::string, int64_t> counters;
};

// What is the same for all ranks of a checkpoint.
struct CheckpointInfo {
  int64_t global_step = 0;
  int ranks = 1;               // of the run
  int files = 1;               // one, or one per rank
  std::string config;          // of the run, without what may change when it is resumed
  int64_t metrics_bytes = -1;  // length of metrics.jsonl when it was written; -1: not known
};

std::string info_text(const CheckpointInfo& info);
CheckpointInfo info_from(const std::string& text, const std::string& where);

// A checkpoint of a run is a folder: checkpoints/step-<n>/ with rank-<r>.safetensors,
// checkpoint.json, and digests.txt, which is written last and makes it count.
struct KeptCheckpoint {
  fs::path folder;
  CheckpointInfo info;
};

fs::path checkpoint_file(const fs::path& folder, int64_t global_step, int rank);
// Before a checkpoint is written: one of the same step no longer counts.
void withdraw_checkpoint(const fs::path& folder, int64_t global_step);
uint64_t save_checkpoint(const fs::path& path, const Checkpoint& checkpoint);  // its digest
Checkpoint load_checkpoint(const fs::path& path);

// The checkpoint is whole: its files have these digests, by rank. Removes all but the newest
// `keep`.
void announce_checkpoint(const fs::path& folder, const CheckpointInfo& info,
                         const std::vector<uint64_t>& digests, const std::string& run,
                         int64_t keep);

// Those that are whole, newest first; damaged ones are left out and named in `damaged`. A UserError
// where there is none at all. Those of 0.1.0 have no digests and are taken as they are.
std::vector<KeptCheckpoint> kept_checkpoints(const fs::path& folder,
                                             std::vector<std::string>& damaged);

// Where a run's checkpoints go, and what rank 0 knows of its folder.
struct CheckpointPlace {
  fs::path folder = {};                         // empty: none are written
  std::string run = {};                         // its identifier
  std::function<int64_t()> flush_metrics = {};  // returns the length of metrics.jsonl
};

// Where a run went on.
struct ResumedFrom {
  int64_t global_step = 0;
  int64_t metrics_bytes = -1;
  bool has_all_epochs = false;       // nothing is left but to evaluate and save the model
  bool has_digests = true;           // what was loaded was compared with its digests
  std::vector<std::string> damaged;  // newer checkpoints that were passed over, and why
};

}  // namespace lockstep
