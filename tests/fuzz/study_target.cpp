#include "study/placement.h"

#include "fuzz_target.h"

namespace lockstep {
namespace {

void read(const std::string& input) {
  for (const bool quick : {true, false}) {
    const Study study = parse_study(input, "input", quick);
    for (const StudyPoint& point : study.points) place_of(study, point, {});
  }
}

std::vector<std::string> seeds() { return repository_files("studies"); }

}  // namespace

FuzzTarget study_target() { return {"study", read, seeds}; }

}  // namespace lockstep
