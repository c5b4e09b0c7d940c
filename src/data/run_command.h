#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/files.h"

namespace lockstep {

// Runs a program (found on PATH, no shell) in a folder, without input, and waits. Throws a Failure
// with the last line it wrote when it cannot be started, fails, or takes longer than the limit;
// then it and what it started are killed.
void run_command(const std::vector<std::string>& words, const fs::path& folder,
                 std::chrono::milliseconds limit);

}  // namespace lockstep
