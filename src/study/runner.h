#pragma once

#include <atomic>
#include <functional>

#include "os/files.h"
#include "study/study.h"

namespace lockstep {

// How far a study has come.
struct StudyProgress {
  int64_t done = 0, all = 0;  // runs, with those that were there before
  int64_t failed = 0;
  double seconds = 0, left = 0;  // spent; an estimate
  std::string point;             // under way
};
using ShowProgress = std::function<void(const StudyProgress&)>;

// Runs `program` once for each point and repeat, in an order shuffled against drift, and keeps what
// was finished before. Points that fail are left with their reason; the others still run. False
// when it was asked to stop before the end.
bool run_study(const Study& study, const fs::path& folder, const fs::path& program,
               const ShowProgress& show, const std::atomic<bool>& stop);

}  // namespace lockstep
