#pragma once

#include <CLI/CLI.hpp>

namespace lockstep {

// lockstep data list | get | info | show
void add_data_verb(CLI::App& app);

}  // namespace lockstep
