#pragma once

#include "report/figure.h"
#include "report/table.h"
#include "study/results.h"

namespace lockstep {

// One row per point: values with their spread, next to the published ones.
Table results_table(const StudyResults& results);

// Figures by name: the time; if the scale varies, speed-up with its ideal line; the accuracy, if
// the study has a column of it.
std::vector<std::pair<std::string, Figure>> results_figures(const StudyResults& results);

// Writes table.md, table.csv, table.tex, results.json and the figures as .svg and .png.
void write_results(const StudyResults& results, const fs::path& folder);

std::string results_json(const StudyResults& results);

}  // namespace lockstep
