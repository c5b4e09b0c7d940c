#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "comm/request.h"

namespace lockstep {

// A collective written as one plain function that waits for messages, or for other tasks, with
// co_await. It suspends when a message has not arrived and resumes in advance(), so communication
// needs no separate thread and can progress between the layers of a backward pass.
class Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    Request waiting_for;
    Handle inner;    // task that this one waits for; it is owned by the frame of this one
    int steps = -1;  // number of resumes after the first; -1 before the start
    std::exception_ptr error;

    Task get_return_object() { return Task(Handle::from_promise(*this)); }
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

    struct WaitForTask;
    WaitForTask await_transform(Task task);
  };

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Whether something that it waited for has arrived.
  bool has_progressed() const {
    for (Handle task = handle_; task; task = task.promise().inner)
      if (task.promise().steps > 0) return true;
    return false;
  }

  bool block() { return innermost(handle_).promise().waiting_for.block(); }

  bool advance() { return advance(handle_); }

 private:
  static Handle innermost(Handle task) {
    while (task.promise().inner) task = task.promise().inner;
    return task;
  }

  static bool advance(Handle task) {
    promise_type& promise = task.promise();
    while (!task.done()) {
      if (promise.inner) {
        if (!advance(promise.inner)) return false;
        promise.inner = nullptr;
      } else if (promise.steps >= 0 && !promise.waiting_for.test()) {
        return false;
      }
      ++promise.steps;
      task.resume();
    }
    if (promise.error) std::rethrow_exception(promise.error);
    return true;
  }

  Handle handle_;
};

struct Task::promise_type::WaitForTask {
  promise_type& promise;
  Task task;
  bool await_ready() { return task.advance(); }
  void await_suspend(Handle) { promise.inner = task.handle_; }
  void await_resume() {}
};

inline Task::promise_type::WaitForTask Task::promise_type::await_transform(Task task) {
  return {*this, std::move(task)};
}

}  // namespace lockstep
