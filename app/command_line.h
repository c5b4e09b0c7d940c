#pragma once

#include <CLI/CLI.hpp>

namespace lockstep {

// Adds the verb `wanted` with its options and help; all verbs if it is unknown or "completion".
void add_verbs(CLI::App& app, const std::string& wanted);

// Runs the program and returns its exit code: 0 success, 1 failure, 2 user error.
int run_command_line(int argc, char** argv);

}  // namespace lockstep
