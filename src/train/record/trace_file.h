#pragma once

#include "base/clock.h"
#include "comm/communicator.h"
#include "os/files.h"
#include "parallel/trace.h"

namespace lockstep {

// Writes the events of all ranks as a Chrome trace (ui.perfetto.dev, chrome://tracing), one lane
// per rank. All ranks call it; rank 0 writes. Clocks are compared with rank 0's first.
void write_trace(const fs::path& path, const Trace& trace, Communicator& ranks, const Clock& clock);

// The events of one rank in that format; times are relative to `zero`.
std::string trace_lane(int rank, const std::string& host, const Trace& trace, double zero);
void write_lanes(const fs::path& path, const std::vector<std::string>& lanes);

}  // namespace lockstep
