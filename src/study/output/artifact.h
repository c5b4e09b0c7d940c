#pragma once

#include "os/files.h"
#include "study/results/results.h"

namespace lockstep {

// Describes a folder of results for reviewers of artifacts and for machines: README.md (claims, how
// to repeat them, how long that takes), and ro-crate-metadata.json (RO-Crate 1.1: files, program
// and how they were made). `command`: the command line that makes the folder again.
void write_artifact_description(const std::vector<StudyResults>& studies, const fs::path& folder,
                                const std::string& title, const std::string& command);

}  // namespace lockstep
