#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/function_ref.h"

namespace lockstep {

// The error to throw when the system refuses to start a thread. Running threads must be joined
// first: destroying a std::thread that was not joined ends the program.
Failure too_many_threads(int64_t wanted, int64_t running, const std::system_error& refused);

// A fixed team of threads that splits loops. Starting a loop costs about a microsecond: idle
// members spin for a moment before they sleep.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  // Calls body(begin, end, member) for each member with its share of [0, count), unless that is
  // empty, and returns when all are done. Shares begin at multiples of `grain`. An exception of a
  // member is rethrown.
  using Body = FunctionRef<void(int64_t begin, int64_t end, int member)>;
  void split(int64_t count, int64_t grain, Body body);

 private:
  void end_helpers();
  void start_round();
  void help(int member);
  void run_share(int member);

  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::atomic<uint32_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> ending_{false};
  std::vector<std::exception_ptr> errors_;
  const Body* body_ = nullptr;
  int64_t count_ = 0;
  int64_t grain_ = 1;
};

}  // namespace lockstep
