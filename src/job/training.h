#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "config/run_config.h"
#include "data/say.h"
#include "os/files.h"
#include "train/observer.h"

namespace lockstep {

// Options of a training run that are not part of its configuration.
struct TrainOptions {
  std::string out = {};       // the run's folder; empty: a new one, runs/NAME, runs/NAME-2, ...
  std::string resume = {};    // folder of the run to resume
  bool force = false;         // replace an earlier run in `out`
  bool trace = false;         // write trace.json, a timeline of all ranks
  bool show_binding = false;  // report which cores ranks are bound to
  std::optional<Baseline> baseline = {};    // speed-up and efficiency are relative to it
  Observer* observer = nullptr;             // on rank 0, in addition to the run folder
  Say say = [](const std::string&) {};      // receives rank 0's messages to the user
  const std::atomic<bool>* stop = nullptr;  // true: end after this step, with a checkpoint
};

struct TrainedRun {
  Summary summary;
  fs::path folder;
  std::string resume_command;  // only if the run was interrupted
};

// Trains on parallel.ranks ranks, as run_ranks() starts them, and writes a run folder. Returns rank
// 0's result; nullopt on other ranks of an MPI job.
std::optional<TrainedRun> train(RunConfig config, const TrainOptions& options = {});

}  // namespace lockstep
