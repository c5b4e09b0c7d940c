#include "job/interrupt.h"

#include <csignal>

namespace lockstep {
namespace {

// Global because signal handlers have no other way to reach it.
std::atomic<bool> interrupted{false};

extern "C" void on_signal(int signal) {
  interrupted.store(true);
  if (signal == SIGINT) std::signal(signal, SIG_DFL);
}

}  // namespace

bool was_interrupted() { return interrupted.load(); }

InterruptGuard::InterruptGuard() {
  interrupted.store(false);
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGUSR1, on_signal);  // Slurm's warning; forwarded by mpiexec
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGUSR1, SIG_IGN);  // it may come again while the program ends
}

const std::atomic<bool>& InterruptGuard::flag() const { return interrupted; }

}  // namespace lockstep
