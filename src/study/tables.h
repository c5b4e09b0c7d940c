#pragma once

#include "report/figure.h"
#include "report/table.h"
#include "study/results.h"

namespace lockstep {

// The results as a table: a row a point, our figures with their spread beside the published ones.
Table results_table(const StudyResults& results);

// What is worth a plot: the time, and where n grows, speed-up with its ideal line.
std::vector<std::pair<std::string, Figure>> results_figures(const StudyResults& results);

// Writes table.md, table.csv, table.tex, results.json and the figures as .svg and .png.
void write_results(const StudyResults& results, const fs::path& folder);

std::string results_json(const StudyResults& results);

}  // namespace lockstep
