#include "data/loader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/permutation.h"

namespace lockstep {

BatchLoader::BatchLoader(const Dataset& dataset, int64_t batch, uint64_t seed, bool shuffle,
                         int workers)
    : dataset_(dataset),
      batch_(batch),
      seed_(seed),
      shuffle_(shuffle),
      thread_count_(static_cast<size_t>(std::max(0, workers))) {
  if (batch < 0) throw UserError("batch size {} is invalid; expected 0 (all) or more", batch);
  if (workers < 0 || workers > 256)
    throw UserError("data.workers = {} is not possible; expected 0 to 256", workers);
  if (dataset.size() == 0) throw UserError("there are no samples to form batches from");
  if (batch_ == 0 || batch_ > dataset.size()) batch_ = dataset.size();
  batches_ = (dataset.size() + batch_ - 1) / batch_;
  delivered_ = prepared_ = batches_;  // nothing to do before the first start_epoch
  hold(1);
  try {
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  } catch (...) {  // not all threads could be started: end those that run
    stop();
    throw;
  }
}

BatchLoader::~BatchLoader() { stop(); }

void BatchLoader::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  to_prepare_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void BatchLoader::hold(int64_t batches) {
  const std::lock_guard lock(mutex_);
  ENSURE(batches >= 1 && busy_ == 0 && prepared_ == batches_);
  held_ = batches;
  // Beside those of the caller one per worker, and one for a finished batch.
  ring_.resize(static_cast<size_t>(held_) + (thread_count_ == 0 ? 0 : thread_count_ + 1));
}

void BatchLoader::start_epoch(int64_t epoch) {
  const int64_t size = dataset_.size(), batches = (size + batch_ - 1) / batch_;
  std::vector<int64_t> sizes(static_cast<size_t>(batches), batch_);
  sizes.back() = size - (batches - 1) * batch_;
  start(shuffle_ ? epoch_order(size, seed_, epoch) : natural_order(size), sizes);
}

void BatchLoader::start(std::vector<int64_t> rows, const std::vector<int64_t>& sizes) {
  std::unique_lock lock(mutex_);
  prepared_ = batches_;  // workers start no further batch of the old order
  to_deliver_.wait(lock, [this] { return busy_ == 0; });
  order_ = std::move(rows);
  ends_.clear();
  int64_t end = 0;
  for (const int64_t size : sizes) ends_.push_back(end += size);
  ENSURE(end <= static_cast<int64_t>(order_.size()));
  batches_ = static_cast<int64_t>(ends_.size());
  for (Slot& slot : ring_) slot.ready = false, slot.error = nullptr;
  prepared_ = delivered_ = 0;
  to_prepare_.notify_all();
}

const Batch* BatchLoader::next() {
  std::unique_lock lock(mutex_);
  if (delivered_ >= batches_) return nullptr;
  Slot& slot = slot_of(delivered_);
  if (workers_.empty()) {
    fill(delivered_, slot);
  } else {
    to_deliver_.wait(lock, [&] { return slot.ready; });
    slot.ready = false;
  }
  ++delivered_;  // releases the oldest held batch: its slot may be filled again
  to_prepare_.notify_one();
  if (slot.error) std::rethrow_exception(std::exchange(slot.error, nullptr));
  return &slot.batch;
}

bool BatchLoader::may_prepare() const {
  // The caller may still use the slots of the batches before delivered_.
  return prepared_ < batches_ &&
         prepared_ < delivered_ - held_ + static_cast<int64_t>(ring_.size());
}

void BatchLoader::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    to_prepare_.wait(lock, [this] { return ending_ || may_prepare(); });
    if (ending_) return;
    const int64_t index = prepared_++;
    Slot& slot = slot_of(index);
    ++busy_;
    lock.unlock();
    fill(index, slot);
    lock.lock();
    --busy_;
    slot.ready = true;
    to_deliver_.notify_all();
  }
}

void BatchLoader::fill(int64_t index, Slot& slot) const {
  try {
    const auto at = static_cast<size_t>(index);
    const int64_t begin = index == 0 ? 0 : ends_[at - 1], end = ends_[at];
    dataset_.read(
        std::span(order_).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)),
        slot.batch);
  } catch (...) {
    slot.error = std::current_exception();
  }
}

}  // namespace lockstep
