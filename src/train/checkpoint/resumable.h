#pragma once

#include <string>

#include "config/run_config.h"

namespace lockstep {

// Compares the configuration with that of a checkpoint (`before`, from lasting_toml()); throws a
// UserError that names the first key that differs.
void expect_resumable(const std::string& before, const RunConfig& now);

}  // namespace lockstep
