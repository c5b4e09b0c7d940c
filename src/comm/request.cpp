#include "comm/request.h"

#include <chrono>
#include <thread>

#include "os/affinity.h"

namespace lockstep {
namespace {

// Polls at full speed first, then yields the core (there may be more ranks than cores), then
// sleeps: after a long wait a short delay does not matter.
void pause(int turn, double waited, double patience) {
  if (turn < 64) return;
  if (waited < patience)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(std::chrono::microseconds(waited < 1 ? 50 : 1000));
}

// An operation and what follows it.
class WithWork final : public Operation {
 public:
  WithWork(std::unique_ptr<Operation> operation, std::function<void()> work)
      : operation_(std::move(operation)), work_(std::move(work)) {}
  bool advance() override {
    if (!operation_->advance()) return false;
    work_();
    return true;
  }
  bool met() const override { return operation_->met(); }
  std::string missing() override { return operation_->missing(); }
  bool block() override { return operation_->block(); }
  double patience() const override { return operation_->patience(); }
  double now() const override { return operation_->now(); }

 private:
  std::unique_ptr<Operation> operation_;
  std::function<void()> work_;
};

}  // namespace

Request Request::then(std::function<void()> work) && {
  if (operation_)
    operation_ = std::make_unique<WithWork>(std::move(operation_), std::move(work));
  else
    work();
  return std::move(*this);
}

double patience_of(int64_t ranks) {
  return ranks <= static_cast<int64_t>(allowed_cores().size()) ? 0.5 : 0.002;
}

std::string OperationName::text() const {
  const std::string what = fmt::format("{} of {} bytes", operation, bytes);
  return rank < 0 ? what : fmt::format("rank {}: {}", rank, what);
}

double Operation::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

WaitTimes Request::wait() {
  WaitTimes times;
  if (test()) return times;
  const double start = operation_->now();
  double met_after = operation_->met() ? 0 : -1;
  for (int turn = 0; !operation_->advance(); ++turn) {
    const double waited = operation_->now() - start;
    if (met_after < 0 && operation_->met()) met_after = waited;
    if (timeout_ > 0 && waited > timeout_)
      throw CommunicationFailure(
          "{} waited {:.0f} s (parallel.timeout) for {}; has it stopped, or is it much slower than "
          "the others?",
          name_.text(), timeout_, operation_->missing());
    if (!operation_->block()) pause(turn, waited, operation_->patience());
  }
  const double all = operation_->now() - start;
  operation_.reset();
  times.waiting = met_after < 0 ? all : met_after;
  times.moving = all - times.waiting;
  return times;
}

}  // namespace lockstep
