#pragma once

#include "base/files.h"
#include "data/sources/source.h"

namespace lockstep {

// A table with a header: the column `label` holds the class, the others are numbers.
SourceData read_csv_table(const fs::path& path, const std::string& label);

}  // namespace lockstep
