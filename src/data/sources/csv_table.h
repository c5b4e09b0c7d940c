#pragma once

#include "data/sources/source.h"
#include "os/files.h"

namespace lockstep {

// A table with a header: the column `label` holds the class, the others are numbers.
SourceData read_csv_table(const fs::path& path, const std::string& label);

}  // namespace lockstep
