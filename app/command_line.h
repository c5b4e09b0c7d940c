#pragma once

#include <CLI/CLI.hpp>

namespace lockstep {

// The verb that is wanted with its options and help; all verbs where it is none of them.
void add_verbs(CLI::App& app, const std::string& wanted);

// The program: returns its exit code, 2 for the user's mistakes and 1 for failures.
int run_command_line(int argc, char** argv);

}  // namespace lockstep
