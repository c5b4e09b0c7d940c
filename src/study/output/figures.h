#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/figure.h"
#include "study/results/results.h"

namespace lockstep {

// The figures of a study by the names of their files: those that its file describes, or else time,
// scaling and accuracy. Published values are drawn beside ours.
std::vector<std::pair<std::string, Figure>> results_figures(const StudyResults& results);

}  // namespace lockstep
