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

// How a training is started, beside its configuration.
struct TrainOptions {
  std::string out = {};       // the run's folder; empty: a new one, runs/NAME, runs/NAME-2, ...
  std::string resume = {};    // the folder of a run to go on with
  bool force = false;         // an earlier run in `out` is replaced
  bool trace = false;         // trace.json says what each rank did when
  bool show_binding = false;  // say which cores ranks are bound to
  std::optional<Baseline> baseline = {};    // speed-up and efficiency are relative to it
  Observer* observer = nullptr;             // of rank 0, beside the run's folder
  Say say = [](const std::string&) {};      // what is worth knowing, of rank 0
  const std::atomic<bool>* stop = nullptr;  // ends the run after a step, with a checkpoint
};

struct TrainedRun {
  Summary summary;
  fs::path folder;
  std::string resume_command;  // what to type to go on, where the run was interrupted
};

// Trains on as many ranks as the configuration has (threads of this process, or MPI processes:
// this program starts again under mpiexec, and this process ends with their exit code), and leaves
// a run folder. Returns rank 0's result; nothing on other ranks of an MPI job.
std::optional<TrainedRun> train(RunConfig config, const TrainOptions& options = {});

}  // namespace lockstep
