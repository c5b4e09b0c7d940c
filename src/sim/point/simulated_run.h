#pragma once

#include "sim/point/simulation.h"

namespace lockstep {

// Summary of a predicted run in the form of a real run's, marked as simulated.
Summary summary_of(const SimulatedPoint& point, const Prediction& result, const Cluster& cluster,
                   const Profile& profile, const SimulateOptions& options, const DataSplits& data);

// Writes the files of a real run: config.toml, metrics.jsonl, summary.json, and a trace if there is
// one.
void write_simulated_run(const fs::path& folder, const SimulatedPoint& point,
                         const Prediction& result, const Summary& summary);

}  // namespace lockstep
