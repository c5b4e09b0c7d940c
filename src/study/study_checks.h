#pragma once

#include "study/study_parts.h"

namespace lockstep {

// Checks of a study's file beyond single values. Each throws a UserError that names the line.

// The key that varies along a curve: a setting, or one of a point's other keys.
void check_scale(const std::string& key, const std::string& where);
// The name of a cluster that comes with the program, or a file.
void check_cluster(const std::string& name, const std::string& where);
// Points exist, and have different names.
void check_points(const Study& study, const Sections& all, const std::string& source);
// A preset or a file.
void check_config(const std::string& name, const std::string& where);
// Known, and each once.
void check_columns(const std::vector<std::string>& columns, const std::string& where);
// Points differ, and their baselines are clear.
void check_runs(const Study& study);
// What is compared, drawn and simulated belongs to points that the study has.
void check_full_study(const Study& study, const Sections& all);

}  // namespace lockstep
