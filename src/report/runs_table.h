#pragma once

#include "report/run_record.h"
#include "report/table.h"

namespace lockstep {

// Ranks, batch per rank, global batch, learning rate: they decide whether parallel runs are
// comparable.
const std::vector<std::string>& batch_columns();
std::vector<std::string> batch_cells(const RunRecord& run);

Table runs_table(const std::vector<RunRecord>& runs, const std::string& title);

// How ranks spend their time; without rows if no run has several ranks.
Table shares_table(const std::vector<RunRecord>& runs);

// The most important values, as pairs of value and description. Counts and total times are per kind
// of run, best values per kind of run and data set.
std::vector<std::pair<std::string, std::string>> tiles_of(const std::vector<RunRecord>& runs,
                                                          size_t studies);

}  // namespace lockstep
