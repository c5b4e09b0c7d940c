#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Progress of a run.
struct Position {
  int64_t epoch = 1;        // current epoch, from 1
  int64_t step = 0;         // steps done in this epoch
  int64_t global_step = 0;  // steps done in all epochs
  double epoch_loss = 0;    // sums over the epoch so far
  int64_t epoch_correct = 0, epoch_samples = 0;
  double best_loss = 0;
  int64_t best_epoch = 0;
  double first_loss = 0;                    // of the run's first step; 0: no step yet, or unknown
  double last_loss = 0, last_accuracy = 0;  // training figures of the previous epoch
};

// Everything a rank needs to continue as if it had never stopped.
struct Checkpoint {
  Position at;
  std::map<std::string, std::vector<float>> arrays;
  std::map<std::string, int64_t> counters;
};

// The part of a checkpoint that is the same for all ranks.
struct CheckpointInfo {
  int64_t global_step = 0;
  int ranks = 1;               // number of ranks of the run
  int files = 1;               // number of files: one of the whole network, or one per rank
  int stages = 1;              // ranks per replica
  std::string config;          // of the run, as from lasting_toml()
  int64_t metrics_bytes = -1;  // length of metrics.jsonl at the checkpoint; -1: unknown
};

std::string info_text(const CheckpointInfo& info);
CheckpointInfo info_from(const std::string& text, const std::string& where);

// A checkpoint of a run is a folder: checkpoints/step-<n>/ with rank-<r>.safetensors,
// checkpoint.json, and digests.txt, which is written last: without it the checkpoint is ignored.
struct KeptCheckpoint {
  fs::path folder;
  CheckpointInfo info;
};

fs::path checkpoint_file(const fs::path& folder, int64_t global_step, int rank);
// Called before a checkpoint is written: invalidates an earlier one of the same step.
void withdraw_checkpoint(const fs::path& folder, int64_t global_step);
uint64_t save_checkpoint(const fs::path& path, const Checkpoint& checkpoint);  // returns the digest
Checkpoint load_checkpoint(const fs::path& path);

// Marks a checkpoint as complete, with the digests of its files by rank. Removes all but the newest
// `keep` checkpoints.
void announce_checkpoint(const fs::path& folder, const CheckpointInfo& info,
                         const std::vector<uint64_t>& digests, const std::string& run,
                         int64_t keep);

// Undamaged checkpoints, newest first; the errors of damaged ones go into `damaged`. Throws a
// UserError if none can be used. Checkpoints of 0.1.0 have no digests and are not verified.
std::vector<KeptCheckpoint> kept_checkpoints(const fs::path& folder,
                                             std::vector<std::string>& damaged);

// Where a run's checkpoints go. Only rank 0 needs `run` and `flush_metrics`.
struct CheckpointPlace {
  fs::path folder = {};                         // empty: no checkpoints are written
  std::string run = {};                         // identifier of the run
  std::function<int64_t()> flush_metrics = {};  // returns the length of metrics.jsonl
};

// The checkpoint that a run was resumed from.
struct ResumedFrom {
  int64_t global_step = 0;
  int64_t metrics_bytes = -1;
  bool has_all_epochs = false;       // only evaluation and saving the model are left
  bool has_digests = true;           // the loaded files were compared with their digests
  std::vector<std::string> damaged;  // errors of damaged checkpoints, which were skipped
};

}  // namespace lockstep
