#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Runs a program (found on PATH, no shell) in a folder, without input, and waits. Throws a Failure
// with the last line it wrote when it cannot be started, fails, or takes longer than the limit;
// then it and what it started are killed. What it writes goes to `log`, by default beside it in the
// folder. When `stop` is raised it is asked to end (SIGTERM), and killed if it has not within 30 s.
void run_command(const std::vector<std::string>& words, const fs::path& folder,
                 std::chrono::milliseconds limit, const fs::path& log = {},
                 const std::atomic<bool>* stop = nullptr);

}  // namespace lockstep
