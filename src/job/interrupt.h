#pragma once

#include <atomic>

namespace lockstep {

// Whether a signal has raised the flag of an InterruptGuard.
bool was_interrupted();

// While it lives, Ctrl-C, SIGTERM and SIGUSR1 raise a flag instead of ending the program; a second
// Ctrl-C ends it at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  const std::atomic<bool>& flag() const;
};

}  // namespace lockstep
