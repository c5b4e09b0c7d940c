#pragma once

#include "sim/point/simulation.h"

namespace lockstep {

// The summary of a run that was predicted, as a real run has it, marked as simulated.
Summary summary_of(const SimulatedPoint& point, const Prediction& result, const Cluster& cluster,
                   const Profile& profile, const SimulateOptions& options, const DataSplits& data);

// Leaves behind what a real run leaves: config.toml, metrics.jsonl, summary.json, and a trace where
// there is one.
void write_simulated_run(const fs::path& folder, const SimulatedPoint& point,
                         const Prediction& result, const Summary& summary);

}  // namespace lockstep
