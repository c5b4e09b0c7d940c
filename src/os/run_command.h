#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "os/files.h"

namespace lockstep {

// Runs a program (found on PATH, no shell) in a folder, without input, and waits for it. Throws a
// Failure if it cannot be started, fails (with the last line of its output), or takes longer than
// the limit; then it and its children are killed. Its output goes to `log`, by default a file named
// after the program in the folder. When `stop` becomes true it gets SIGTERM, and after 30 s
// SIGKILL.
void run_command(const std::vector<std::string>& words, const fs::path& folder,
                 std::chrono::milliseconds limit, const fs::path& log = {},
                 const std::atomic<bool>* stop = nullptr);

}  // namespace lockstep
