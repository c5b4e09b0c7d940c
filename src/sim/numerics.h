#pragma once

#include <atomic>

#include "sim/point/simulation.h"

namespace lockstep {

// Trains for real on virtual ranks, all in one process: their arithmetic is done one after the
// other, and takes the time that it would take on the cluster. So updates of asynchronous servers
// come in the order of virtual time. Leaves a run folder, marked as simulated, and returns its
// summary.json.
std::string simulate_numerics(const SimulatedPoint& point, const DataSplits& data,
                              const Profile& profile, const Cluster& cluster,
                              const SimulateOptions& options, const fs::path& folder,
                              Observer& progress, const std::atomic<bool>& stop);

// The same for a cross-validation.
std::string simulate_crossval(const SimulatedPoint& point, const DataSplits& data,
                              const Profile& profile, const Cluster& cluster,
                              const SimulateOptions& options, const fs::path& folder,
                              const std::atomic<bool>& stop);

}  // namespace lockstep
