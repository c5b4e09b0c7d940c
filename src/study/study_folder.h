#pragma once

#include "os/files.h"
#include "study/study.h"

namespace lockstep {

// What a study's folder records of its origin: the file, whether its quick form is run, and
// changes.
struct StudyOrigin {
  std::string text;  // of the TOML file
  bool quick = false;
  std::vector<std::string> changes;  // key=value, from --set
};
void save_origin(const StudyOrigin& origin, const fs::path& folder);
bool is_study_folder(const fs::path& folder);
Study load_study(const fs::path& folder);

// To start over: removes the points of the study, and the tables, figures and pages made of them.
// Other files of the folder stay.
void remove_results(const Study& study, const fs::path& folder);

}  // namespace lockstep
