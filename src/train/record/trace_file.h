#pragma once

#include "base/clock.h"
#include "comm/communicator.h"
#include "os/files.h"
#include "parallel/trace.h"

namespace lockstep {

// Writes the events of all ranks as a Chrome trace (ui.perfetto.dev, chrome://tracing), one lane a
// rank. All ranks call it; rank 0 writes. Clocks of other hosts are compared with rank 0's first.
void write_trace(const fs::path& path, const Trace& trace, Communicator& ranks, const Clock& clock);

// The events of one rank as such a trace has them; times are counted from `zero`.
std::string trace_lane(int rank, const std::string& host, const Trace& trace, double zero);
void write_lanes(const fs::path& path, const std::vector<std::string>& lanes);

}  // namespace lockstep
