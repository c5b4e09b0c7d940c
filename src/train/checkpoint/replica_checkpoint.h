#pragma once

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/snapshot.h"
#include "train/replica.h"

namespace lockstep {

// Writes and reads the checkpoints of one rank's replica: weights, running statistics, the best
// snapshot so far, and the state of optimisers and strategy. All ranks call each function together.
class ReplicaCheckpoint {
 public:
  ReplicaCheckpoint(const RunConfig& config, Communicator& ranks, Replica& replica)
      : config_(config), ranks_(ranks), replica_(replica) {}

  // One file of the whole network where replicas hold the same values, else one per rank.
  void write(const CheckpointPlace& place, const Position& at, const Snapshot& best);
  // Restores the newest undamaged checkpoint in the folder. `updates_per_epoch` decides whether its
  // position is possible in this run.
  ResumedFrom read(const fs::path& folder, int64_t updates_per_epoch, Position& at, Snapshot& best);

 private:
  std::vector<Optimizer*> all_optimizers();
  bool needs_one_file() const;
  void expect_possible_mesh(const CheckpointInfo& info, const fs::path& folder) const;
  void expect_possible(const Position& at, int64_t updates_per_epoch, const fs::path& file) const;

  const RunConfig& config_;
  Communicator& ranks_;
  Replica& replica_;
};

}  // namespace lockstep
