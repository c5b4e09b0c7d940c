#pragma once

#include <atomic>

#include "sim/point/simulation.h"

namespace lockstep {

// Trains for real on simulated ranks, all in one process. Their arithmetic is done in turn and
// takes as much virtual time as it would on the cluster, so asynchronous servers apply updates in
// the order of virtual time. Writes a run folder marked as simulated and returns its summary.json.
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
