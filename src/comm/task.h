#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "comm/request.h"

namespace lockstep {

// A collective written as one plain function that waits for messages with co_await. It suspends
// when a message has not arrived and resumes in advance(), so communication needs no separate
// thread and can progress between the layers of a backward pass.
class Task {
 public:
  struct promise_type {
    Request waiting_for;
    int steps = -1;  // number of resumes after the first; -1 before the start
    std::exception_ptr error;

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }

    struct Wait {
      promise_type& promise;
      Request request;
      bool await_ready() { return request.test(); }
      void await_suspend(std::coroutine_handle<>) { promise.waiting_for = std::move(request); }
      void await_resume() {}
    };
    Wait await_transform(Request request) { return {*this, std::move(request)}; }
  };

  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  int steps() const { return handle_.promise().steps; }  // number of messages waited for so far

  bool block() { return handle_.promise().waiting_for.block(); }

  bool advance() {
    promise_type& promise = handle_.promise();
    while (!handle_.done()) {
      if (promise.steps >= 0 && !promise.waiting_for.test()) return false;
      ++promise.steps;
      handle_.resume();
    }
    if (promise.error) std::rethrow_exception(promise.error);
    return true;
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace lockstep
