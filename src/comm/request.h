#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"

namespace lockstep {

// A peer was lost, or did not come in time.
class CommunicationFailure : public Failure {
 public:
  using Failure::Failure;
};

// An operation between ranks that is under way.
class Operation {
 public:
  virtual ~Operation() = default;
  // Moves on as far as possible without waiting; true once complete.
  virtual bool advance() = 0;
  // Whether every peer has come; from then on time is spent on moving data, not on waiting.
  virtual bool met() const = 0;
  // Who has not come: "rank 2 on host b". Asked once, when time is up; may take a moment.
  virtual std::string missing() = 0;
  // Where time is simulated: stands still until advance() may get further. False: time is real, and
  // one goes on asking, perhaps after a moment that leaves the answer its way.
  virtual bool block() { return false; }
  // How long a waiting rank keeps its core busy with asking; MPI moves data only when it is asked.
  virtual double patience() const { return 0; }
  virtual double now() const;  // seconds since some fixed moment
};

// With a core for each of so many ranks on this machine nobody else wants it, and messages are not
// kept waiting: asleep, a rank would notice them 50 us late.
double patience_of(int64_t ranks);

// How long the caller stood still, and why.
struct WaitTimes {
  double waiting = 0;  // for ranks that had not come yet
  double moving = 0;   // for data
};

// What an operation is, for messages; put into words only when there is one to write.
struct OperationName {
  const char* operation;
  size_t bytes = 0;
  int rank = -1;  // who started it, where that is not said anyway
  std::string text() const;
};

// The handle of an operation; a default one is complete. It must be waited for before the buffers
// it was given are touched.
class Request {
 public:
  Request() = default;
  // A timeout of 0 waits for ever.
  Request(std::unique_ptr<Operation> operation, OperationName name, double timeout)
      : operation_(std::move(operation)), name_(name), timeout_(timeout) {}

  bool test() {
    if (operation_ && operation_->advance()) operation_.reset();
    return !operation_;
  }
  bool block() { return !operation_ || operation_->block(); }
  // Throws a CommunicationFailure that names who is missing when the time limit is over.
  WaitTimes wait();

 private:
  std::unique_ptr<Operation> operation_;
  OperationName name_{""};
  double timeout_ = 0;
};

}  // namespace lockstep
