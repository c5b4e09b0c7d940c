#pragma once

#include "report/table.h"
#include "study/results/results.h"

namespace lockstep {

// One row per point: values with their spread, next to the published ones.
Table results_table(const StudyResults& results);

// The tables of one column that the study's file describes, by the names of their files.
std::vector<std::pair<std::string, Table>> results_grids(const StudyResults& results);

// Writes table.md, table.csv, table.tex, results.json, the grids, and the figures as .svg and .png.
void write_results(const StudyResults& results, const fs::path& folder);

std::string results_json(const StudyResults& results);

}  // namespace lockstep
