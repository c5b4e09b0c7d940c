#pragma once

#include "base/clock.h"
#include "base/files.h"
#include "comm/communicator.h"
#include "parallel/trace.h"

namespace lockstep {

// Writes the events of all ranks as a Chrome trace (ui.perfetto.dev, chrome://tracing), one lane a
// rank. All ranks call it; rank 0 writes. Clocks of other hosts are compared with rank 0's first.
void write_trace(const fs::path& path, const Trace& trace, Communicator& ranks, const Clock& clock);

}  // namespace lockstep
