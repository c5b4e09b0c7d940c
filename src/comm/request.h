#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"

namespace lockstep {

// A peer was lost or did not respond in time.
class CommunicationFailure : public Failure {
 public:
  using Failure::Failure;
};

// A communication operation in flight.
class Operation {
 public:
  virtual ~Operation() = default;
  // Progresses as far as possible without waiting; true once complete.
  virtual bool advance() = 0;
  // Whether all peers have arrived; from then on time is spent moving data, not waiting.
  virtual bool met() const = 0;
  // Peers that have not arrived: "rank 2 on host b". Called once, on timeout; may take a second.
  virtual std::string missing() = 0;
  // Simulated time: blocks until advance() can progress, returns true. Real time: may pause
  // briefly, returns false; the caller polls again.
  virtual bool block() { return false; }
  // Seconds during which a waiting rank polls without sleeping. MPI moves data only when polled.
  virtual double patience() const { return 0; }
  virtual double now() const;  // seconds since a fixed point in time
};

// patience() of `ranks` ranks on this machine: long if each has its own core, because a sleeping
// rank notices messages up to 50 us late.
double patience_of(int64_t ranks);

// How long the caller waited, and for what. Seconds.
struct WaitTimes {
  double waiting = 0;  // for ranks that had not arrived yet
  double moving = 0;   // for data
};

// Describes an operation in error messages; formatted only when one is written.
struct OperationName {
  const char* operation;
  size_t bytes = 0;
  int rank = -1;  // rank that started it; -1: left out of the text
  std::string text() const;
};

// Handle of an operation; a default-constructed one is complete. Wait for it before using the
// buffers that were passed to the operation.
class Request {
 public:
  Request() = default;
  // A timeout of 0 waits forever.
  Request(std::unique_ptr<Operation> operation, OperationName name, double timeout)
      : operation_(std::move(operation)), name_(name), timeout_(timeout) {}

  bool test() {
    if (operation_ && operation_->advance()) operation_.reset();
    return !operation_;
  }
  bool block() { return !operation_ || operation_->block(); }
  // This request, which also runs `work` as its last part.
  Request then(std::function<void()> work) &&;
  // Throws a CommunicationFailure that names the missing peers after the timeout.
  WaitTimes wait();

 private:
  std::unique_ptr<Operation> operation_;
  OperationName name_{""};
  double timeout_ = 0;
};

}  // namespace lockstep
