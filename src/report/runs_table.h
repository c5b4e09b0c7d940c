#pragma once

#include "report/run_record.h"
#include "report/table.h"

namespace lockstep {

// Ranks, batch per rank, global batch, learning rate: what decides whether parallel runs compare.
const std::vector<std::string>& batch_columns();
std::vector<std::string> batch_cells(const RunRecord& run);

Table runs_table(const std::vector<RunRecord>& runs, const std::string& title);

// Where the time of ranks goes; without rows where no run has several.
Table shares_table(const std::vector<RunRecord>& runs);

// The most telling figures, as value and what it is. Each is of one kind of run and one data set.
std::vector<std::pair<std::string, std::string>> tiles_of(const std::vector<RunRecord>& runs,
                                                          size_t studies);

}  // namespace lockstep
