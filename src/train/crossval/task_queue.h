#pragma once

#include <optional>

#include "os/files.h"

namespace lockstep {

// Hands out the numbers from 0 to `count` - 1, each once, to threads and processes that share a
// folder. The next number is in a file, which is locked while it is read and incremented: no rank
// has to answer requests while it trains.
class TaskQueue {
 public:
  // Starts from 0; called by one rank, before any call of next().
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
