#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "comm/communicator.h"
#include "config/run_config.h"
#include "data/load.h"
#include "data/say.h"

namespace lockstep {

// Whether ranks hold only their own part of the training samples.
bool holds_parts(const RunConfig& config);

// Takes over what a job that mpiexec or srun started has decided: the number of ranks. Sets what
// the strategy and the way of reading need, and checks the configuration.
void settle_ranks(RunConfig& config);

// Runs `rank_main` on every rank that the configuration asks for, or that mpiexec or srun has
// started: as threads of this process, as this process's rank, or by starting this program again
// under mpiexec, in which case this process ends with their exit code.
void run_ranks(RunConfig& config, const std::function<void(Communicator&)>& rank_main);

// What to type to go on with an interrupted run in `folder`.
std::string resume_command(const std::string& verb, const fs::path& folder, Communicator& ranks);

// Binds the calling rank as the configuration says. The map, for rank 0 to show; empty: unbound.
std::string bind_rank(const RunConfig& config, Communicator& ranks);

// Data that ranks of one process share and ranks of several load each; rank 0 first, so that only
// one fetches what is not there yet. Ranks may also hold a part each, read or dealt out by rank 0.
class SharedData {
 public:
  const DataSplits& get(const RunConfig& config, Communicator& ranks, const Say& say);
  double read_seconds() const { return seconds_; }  // of rank 0

 private:
  DataSplits all_;
  std::mutex mutex_;
  std::map<int, DataSplits> parts_;  // by rank
  double seconds_ = 0;
};

// All ranks were given the same configuration and the same samples; a UserError says who differs.
void expect_agreement(const RunConfig& config, const DataSplits& data, Communicator& ranks);

}  // namespace lockstep
