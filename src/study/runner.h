#pragma once

#include <atomic>
#include <functional>

#include "os/files.h"
#include "study/study.h"

namespace lockstep {

// Progress of a study.
struct StudyProgress {
  int64_t done = 0, all = 0;  // number of runs, including those of earlier starts
  int64_t failed = 0;
  double seconds = 0, left = 0;  // elapsed; estimate of the remaining time
  std::string point;             // label of the running point
};
using ShowProgress = std::function<void(const StudyProgress&)>;

// Runs `program` once per point and repeat, in shuffled order, so that drift of the machine affects
// all points. Runs that an earlier start finished are kept. A failed run leaves its reason in
// failed.txt; the others still run. Returns false if it was stopped before the end.
bool run_study(const Study& study, const fs::path& folder, const fs::path& program,
               const ShowProgress& show, const std::atomic<bool>& stop);

}  // namespace lockstep
