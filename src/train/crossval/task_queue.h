#pragma once

#include <optional>

#include "os/files.h"

namespace lockstep {

// Hands out the numbers 0, 1, 2 ... below `count`, each to one of several threads or processes that
// share a folder. The next number is in a file there, locked while it is read and raised: ranks
// that are busy training need not answer anybody.
class TaskQueue {
 public:
  // Starts over; by one of them, before the others ask.
  static void reset(const fs::path& file);
  // `patience`: seconds to wait for the lock.
  TaskQueue(const fs::path& file, int64_t count, double patience);
  std::optional<int64_t> next();

 private:
  fs::path file_;
  int64_t count_;
  double patience_;
};

}  // namespace lockstep
