#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace lockstep {

// Iterates over a data set in batches. Worker threads prepare batches in advance; the batches and
// their order are the same as without workers. The data set must outlive the loader.
class BatchLoader {
 public:
  // A batch of 0 means the whole set at once; the last batch of an epoch may be smaller.
  BatchLoader(const Dataset& dataset, int64_t batch, uint64_t seed, bool shuffle, int workers);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  int64_t batches() const { return batches_; }  // per epoch

  // Starts an epoch, even if the previous one is not finished.
  void start_epoch(int64_t epoch);
  // The same with the given rows and their order, in batches of the given sizes.
  void start(std::vector<int64_t> rows, const std::vector<int64_t>& sizes);

  // Batches stay valid for this number of calls of next() (at first, 1). Call it before start().
  void hold(int64_t batches);

  // The next batch, valid until the next call (see hold()); nullptr at the end of the epoch. Throws
  // the exception that preparing this batch threw.
  const Batch* next();

 private:
  struct Slot {
    Batch batch;
    std::exception_ptr error;
    bool ready = false;
  };

  void work();
  void stop();
  void fill(int64_t index, Slot& slot) const;
  Slot& slot_of(int64_t index) { return ring_[static_cast<size_t>(index) % ring_.size()]; }
  bool may_prepare() const;

  const Dataset& dataset_;
  int64_t batch_;
  int64_t batches_;
  uint64_t seed_;
  bool shuffle_;
  size_t thread_count_;
  std::vector<int64_t> order_;
  std::vector<int64_t> ends_;  // end of each batch in order_
  std::vector<Slot> ring_;

  // Batches [delivered_, prepared_) of the epoch are in the ring or being prepared. The last held_
  // before them are in the ring too: the caller may still use them.
  std::mutex mutex_;
  std::condition_variable to_prepare_, to_deliver_;
  int64_t held_ = 1;
  int64_t prepared_ = 0;
  int64_t delivered_ = 0;
  int busy_ = 0;
  bool ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace lockstep
