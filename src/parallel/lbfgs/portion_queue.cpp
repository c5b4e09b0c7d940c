#include "parallel/lbfgs/portion_queue.h"

#include <algorithm>

#include "base/part.h"

namespace lockstep {

PortionQueue::PortionQueue(int64_t portions, int workers)
    : portions_(static_cast<size_t>(portions)), left_(portions) {
  for (int worker = 0; worker < workers; ++worker)
    after_last_.push_back(part_of(portions, workers, worker).begin);
}

std::optional<int64_t> PortionQueue::unassigned(int worker) const {
  const auto count = static_cast<int64_t>(portions_.size());
  const int64_t first = after_last_[static_cast<size_t>(worker)];
  for (int64_t i = 0; i < count; ++i) {
    const int64_t portion = (first + i) % count;
    if (portions_[static_cast<size_t>(portion)].workers.empty()) return portion;
  }
  return std::nullopt;
}

std::optional<int64_t> PortionQueue::unfinished(int worker) const {
  for (size_t i = 0; i < portions_.size(); ++i) {
    const Portion& portion = portions_[i];
    if (!portion.finished && portion.workers.size() < most_copies &&
        std::ranges::find(portion.workers, worker) == portion.workers.end())
      return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

std::optional<int64_t> PortionQueue::next(int worker) {
  std::optional<int64_t> portion = unassigned(worker);
  if (!portion) {
    portion = unfinished(worker);
    backups_ += portion.has_value();
  }
  if (!portion) return std::nullopt;
  portions_[static_cast<size_t>(*portion)].workers.push_back(worker);
  after_last_[static_cast<size_t>(worker)] = *portion + 1;
  return portion;
}

bool PortionQueue::finish(int64_t portion) {
  Portion& p = portions_[static_cast<size_t>(portion)];
  if (p.finished) return false;
  p.finished = true;
  --left_;
  return true;
}

}  // namespace lockstep
