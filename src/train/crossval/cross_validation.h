#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "comm/communicator.h"
#include "config/run_config.h"
#include "data/load.h"
#include "os/files.h"
#include "train/observer.h"

namespace lockstep {

// One training of a cross-validation: a fold of a node's samples, or all of them.
struct FoldTask {
  int64_t node = 0, fold = 0;
  bool retrain = false;      // on all samples of the node, after its folds
  std::string name() const;  // "node-0-fold-3", also its folder
};

struct FoldResult {
  FoldTask task;
  double loss = 0, accuracy = 0;  // on the fold's own test samples
  double seconds = 0;
};

struct MeanAndDeviation {
  double mean = 0, deviation = 0;  // of a sample: divided by n - 1
};
MeanAndDeviation mean_and_deviation(const std::vector<double>& values);

struct CrossvalSummary {
  std::string name, data, device;
  int64_t seed = 0, parameters = 0;
  int64_t folds = 0, nodes = 1, ranks = 1, groups = 1;
  // Of the first group's training of a fold; other groups may be one rank smaller.
  int64_t fold_ranks = 1, batch_per_rank = 0, global_batch = 0;
  double learning_rate = 0;  // before any schedule, scaled with ranks where the schedule does
  bool oversubscribed = false, finished = true;
  std::string model, combine;
  std::vector<FoldResult> results;     // by node, then fold
  MeanAndDeviation accuracy, loss;     // over all folds of all nodes
  std::vector<Evaluation> node_tests;  // each node's model on the held-out part, where there is one
  std::optional<Evaluation> test;      // of the model that was saved
  double read_seconds = 0, total_seconds = 0;
};
std::string summary_json(const CrossvalSummary& summary);

// How many groups of `ranks` finish `tasks` equal trainings soonest, if each doubling of the ranks
// of a training costs a tenth of what it gains. Where the batch grows with ranks, a fold gets more
// than one only when ranks would be idle, so that results do not depend on their number.
int64_t quickest_groups(int64_t tasks, int64_t ranks, bool global_batch);

// How far a cross-validation has come. Folds that were finished before it was resumed took none of
// this start's time.
struct FoldProgress {
  int64_t done = 0, all = 0;           // those from before included
  int64_t trained = 0;                 // in this start
  double left(double elapsed) const {  // seconds, by what this start took so far
    return elapsed * static_cast<double>(all - done) / static_cast<double>(trained);
  }
};

// Called as folds end, by the rank that leads the group.
using FoldDone = std::function<void(const FoldResult&, const FoldProgress&)>;

// What a rank computes with; not what the configuration says where it is simulated.
using MakeDevice = std::function<std::unique_ptr<Device>()>;

// Trains all folds on groups of the ranks and leaves in `folder` a run folder for each, the model
// and its configuration. With `resume`, folds that `folder` has finished before are kept; without,
// it holds nothing of an earlier one. All ranks
// call it; rank 0's answer is the whole one.
CrossvalSummary cross_validate(const RunConfig& config, Communicator& ranks, const DataSplits& data,
                               const Clock& clock, const fs::path& folder,
                               const FoldDone& fold_done, bool resume,
                               const std::atomic<bool>& stop, MakeDevice make = {});

}  // namespace lockstep
