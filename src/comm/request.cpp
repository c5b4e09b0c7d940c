#include "comm/request.h"

#include <chrono>
#include <thread>

namespace lockstep {
namespace {

using Moment = std::chrono::steady_clock::time_point;

double since(Moment start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// First at full speed, then leaving the core to others (there may be more ranks than cores), at
// last asleep: a rank that waits long is not in a hurry.
void pause(int turn, double waited) {
  if (turn < 64) return;
  if (waited < 0.002)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(waited < 1 ? 50 : 1000));
}

}  // namespace

WaitTimes Request::wait() {
  WaitTimes times;
  if (test()) return times;
  const Moment start = std::chrono::steady_clock::now();
  double met_after = operation_->met() ? 0 : -1;
  for (int turn = 0; !test(); ++turn) {
    const double waited = since(start);
    if (met_after < 0 && operation_->met()) met_after = waited;
    if (timeout_ > 0 && waited > timeout_)
      throw CommunicationFailure(
          "{} waited {:.0f} s (parallel.timeout) for {}; has it stopped, or is it much slower than "
          "the others?",
          what_, timeout_, operation_->missing());
    pause(turn, waited);
  }
  const double all = since(start);
  times.waiting = met_after < 0 ? all : met_after;
  times.moving = all - times.waiting;
  return times;
}

}  // namespace lockstep
