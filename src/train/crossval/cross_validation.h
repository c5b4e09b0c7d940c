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

// One training of a cross-validation: on one fold of a node, or on all samples of a node.
struct FoldTask {
  int64_t node = 0, fold = 0;
  bool retrain = false;      // on all samples of the node, after its folds
  std::string name() const;  // "node-0-fold-3", also its folder
};

struct FoldResult {
  FoldTask task;
  double loss = 0, accuracy = 0;  // on the fold's test samples
  double train_accuracy = 0;      // of the last epoch, on the fold's training samples
  double seconds = 0;
};

struct MeanAndDeviation {
  double mean = 0, deviation = 0;  // sample deviation: divided by n - 1
};
MeanAndDeviation mean_and_deviation(const std::vector<double>& values);

struct CrossvalSummary {
  std::string name, data, device;
  int64_t seed = 0, parameters = 0;
  int64_t folds = 0, nodes = 1, ranks = 1, groups = 1;
  // Of the first group; other groups may have one rank less.
  int64_t fold_ranks = 1, batch_per_rank = 0, global_batch = 0;
  double learning_rate = 0;  // before the schedule; includes schedule.scale_with_ranks
  bool oversubscribed = false, finished = true;
  std::string model, combine;
  std::vector<FoldResult> results;                  // by node, then fold
  MeanAndDeviation accuracy, loss, train_accuracy;  // over all folds of all nodes
  std::vector<Evaluation> node_tests;  // each node's model on the test part, if there is one
  std::optional<Evaluation> test;      // of the saved model
  double read_seconds = 0, total_seconds = 0;
};
std::string summary_json(const CrossvalSummary& summary);

// Number of groups of `ranks` that finish `tasks` equal trainings fastest, if each doubling of the
// ranks per training has 90% efficiency. Without a global batch, results depend on the number
// of ranks per fold, so a fold gets several ranks only if some would be idle.
int64_t fastest_groups(int64_t tasks, int64_t ranks, bool global_batch);

// Progress of a cross-validation. Folds that an earlier start finished took no time in this one.
struct FoldProgress {
  int64_t done = 0, all = 0;           // including folds of earlier starts
  int64_t trained = 0;                 // folds trained in this start
  double left(double elapsed) const {  // estimated seconds
    return elapsed * static_cast<double>(all - done) / static_cast<double>(trained);
  }
};

// Called when a fold ends, by rank 0 of its group.
using FoldDone = std::function<void(const FoldResult&, const FoldProgress&)>;

// Makes the device of a rank; in a simulation not the configured one.
using MakeDevice = std::function<std::unique_ptr<Device>()>;

// Trains all folds on groups of ranks. Writes a run folder per fold, the model and the
// configuration to `folder`. With `resume`, finished folds in `folder` are kept; without it,
// `folder` must hold no earlier cross-validation. All ranks call it; only rank 0's summary is
// complete.
CrossvalSummary cross_validate(const RunConfig& config, Communicator& ranks, const DataSplits& data,
                               const Clock& clock, const fs::path& folder,
                               const FoldDone& fold_done, bool resume,
                               const std::atomic<bool>& stop, MakeDevice make = {});

}  // namespace lockstep
