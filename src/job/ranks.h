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

// Under mpiexec or srun, takes the number of ranks from the job. Sets parallel.parts if ranks hold
// only their part of the samples, and checks the configuration.
void settle_ranks(RunConfig& config);

// Runs `rank_main` on every rank. Under mpiexec or srun, this process is one rank. Otherwise ranks
// are threads of this process, or this program is started again under mpiexec and this process
// exits with its exit code.
void run_ranks(RunConfig& config, const std::function<void(Communicator&)>& rank_main);

// The command that resumes the interrupted run in `folder`.
std::string resume_command(const std::string& verb, const fs::path& folder, Communicator& ranks);

// Binds the calling rank to cores (parallel.affinity). Returns a map of its host's ranks to cores;
// empty: not bound.
std::string bind_rank(const RunConfig& config, Communicator& ranks);

// The data set, shared by the ranks of a process. Rank 0 loads it first, so that only one rank
// downloads missing files. If ranks hold parts, each reads its part or receives it from rank 0.
class SharedData {
 public:
  const DataSplits& get(const RunConfig& config, Communicator& ranks, const Say& say);
  double read_seconds() const { return seconds_; }  // on rank 0

 private:
  DataSplits all_;
  std::mutex mutex_;
  std::map<int, DataSplits> parts_;  // by rank
  double seconds_ = 0;
};

// Checks that all ranks have the same configuration and samples; a UserError names the rank that
// differs.
void expect_agreement(const RunConfig& config, const DataSplits& data, Communicator& ranks);

}  // namespace lockstep
