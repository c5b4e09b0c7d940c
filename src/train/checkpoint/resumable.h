#pragma once

#include <string>

#include "config/run_config.h"

namespace lockstep {

// What a checkpoint was written with (`before`, as lasting_toml has it) must still hold; a
// UserError names the first key that differs.
void expect_resumable(const std::string& before, const RunConfig& now);

}  // namespace lockstep
