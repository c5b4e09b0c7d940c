#pragma once

#include <CLI/CLI.hpp>

namespace lockstep {

// All verbs with their options and help.
void add_verbs(CLI::App& app);

// The program: returns its exit code, 2 for the user's mistakes and 1 for failures.
int run_command_line(int argc, char** argv);

}  // namespace lockstep
