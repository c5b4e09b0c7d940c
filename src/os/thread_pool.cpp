#include "os/thread_pool.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "os/relax.h"

namespace lockstep {
namespace {

// Whether the value soon differs from `seen`. Spins first, since the next loop usually starts
// within microseconds; then yields, since the awaited thread may need this core.
template <typename T>
bool changes_soon(const std::atomic<T>& value, T seen) {
  for (int spin = 0; spin < 3000; ++spin) {
    if (value.load(std::memory_order_acquire) != seen) return true;
    if (spin < 2000)
      relax();
    else
      std::this_thread::yield();
  }
  return false;
}

}  // namespace

Failure too_many_threads(int64_t wanted, int64_t running, const std::system_error& refused) {
  return Failure(
      "{} threads were asked for, but the system refused after {} ({}); try fewer (--threads, or "
      "--ranks with --backend threads), or raise the limits on memory (ulimit -v) and processes "
      "(ulimit -u)",
      wanted, running, refused.code().message());
}

ThreadPool::ThreadPool(int threads) : errors_(static_cast<size_t>(threads)) {
  ENSURE(threads >= 1);
  try {
    for (int member = 1; member < threads; ++member)
      helpers_.emplace_back([this, member] { help(member); });
  } catch (const std::system_error& refused) {
    end_helpers();
    throw too_many_threads(threads, this->threads(), refused);
  } catch (...) {
    end_helpers();
    throw;
  }
}

ThreadPool::~ThreadPool() { end_helpers(); }

void ThreadPool::end_helpers() {
  ending_.store(true, std::memory_order_relaxed);
  start_round();
  for (std::thread& helper : helpers_) helper.join();
}

// Threads sleep on a condition variable, not in std::atomic::wait: a library that is loaded later
// has its own table of waiters, which the program's notify would not search.
void ThreadPool::start_round() {
  {
    const std::lock_guard lock(mutex_);
    round_.fetch_add(1, std::memory_order_release);
  }
  started_.notify_all();
}

void ThreadPool::help(int member) {
  for (uint32_t seen = 0;; ++seen) {
    if (!changes_soon(round_, seen)) {
      std::unique_lock lock(mutex_);
      started_.wait(lock, [&] { return round_.load(std::memory_order_acquire) != seen; });
    }
    if (ending_.load(std::memory_order_relaxed)) return;
    run_share(member);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      // The caller holds the mutex between its check and its sleep: it cannot miss the notify.
      { const std::lock_guard lock(mutex_); }
      finished_.notify_one();
    }
  }
}

void ThreadPool::run_share(int member) {
  const int64_t grains = (count_ + grain_ - 1) / grain_;
  const int64_t begin = grains * member / threads() * grain_;
  const int64_t end = std::min(count_, grains * (member + 1) / threads() * grain_);
  if (begin >= end) return;
  try {
    (*body_)(begin, end, member);
  } catch (...) {
    errors_[static_cast<size_t>(member)] = std::current_exception();
  }
}

void ThreadPool::split(int64_t count, int64_t grain, Body body) {
  if (count <= 0) return;
  if (helpers_.empty()) {
    body(0, count, 0);
    return;
  }
  body_ = &body;
  count_ = count;
  grain_ = grain;
  busy_.store(static_cast<int>(helpers_.size()), std::memory_order_relaxed);
  start_round();
  run_share(0);
  for (int busy; (busy = busy_.load(std::memory_order_acquire)) != 0;) {
    if (changes_soon(busy_, busy)) continue;
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return busy_.load(std::memory_order_acquire) == 0; });
  }
  for (std::exception_ptr& error : errors_)
    if (error) std::rethrow_exception(std::exchange(error, nullptr));
}

}  // namespace lockstep
