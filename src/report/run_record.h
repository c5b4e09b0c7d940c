#pragma once

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace lockstep {

// A run folder as the report's page takes it: summary, curves of at most `most_points` points each,
// a few steps of its trace, configuration. Throws a UserError that names what is missing or
// damaged.
nlohmann::ordered_json read_run_record(const fs::path& folder, size_t most_points);

}  // namespace lockstep
