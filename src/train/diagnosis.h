#pragma once

#include <vector>

#include "comm/communicator.h"
#include "train/observer.h"

namespace lockstep {

// Gathers host, cores and times of every rank on all ranks. All ranks call it.
std::vector<RankTimes> gather_times(Communicator& ranks, const StepTimes& mine, int threads);

// What a strategy measured: the figures of the first rank that has any. All ranks call it.
std::vector<NamedFigure> gather_figures(Communicator& ranks, const std::vector<NamedFigure>& mine);

// Times of all ranks as shares of the training time, with advice if parallel training is slower
// than it should be. The first `training` ranks have samples; `stages` of them form a replica, and
// wait a share of `bubble` of the time by their schedule.
ParallelFigures summarise(const std::vector<RankTimes>& ranks, int training, int64_t steps,
                          int64_t bytes_per_step, int64_t global_batch,
                          const std::string& strategy = "all-reduce", int64_t stages = 1,
                          double bubble = 0);

// Adds speed-up and efficiency relative to a run of one rank, and a reason if the run was slower
// than the baseline.
void compare(ParallelFigures& figures, const Baseline& baseline, double samples_per_second);

}  // namespace lockstep
