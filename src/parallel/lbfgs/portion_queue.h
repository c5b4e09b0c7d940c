#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lockstep {

// Which worker computes which portion of a batch. A worker that is free gets the portion after its
// last one, or another that nobody has; when none is left, a backup copy of one that another worker
// has not finished. The first result of a portion counts.
class PortionQueue {
 public:
  static constexpr int most_copies = 2;

  PortionQueue(int64_t portions, int workers);

  // Nothing: the worker is not needed now.
  std::optional<int64_t> next(int worker);
  // Returns whether this is the first result of the portion.
  bool finish(int64_t portion);
  bool complete() const { return left_ == 0; }
  int64_t backups() const { return backups_; }

 private:
  struct Portion {
    std::vector<int> workers;  // that it was given to
    bool finished = false;
  };

  std::optional<int64_t> unassigned(int worker) const;
  std::optional<int64_t> unfinished(int worker) const;

  std::vector<Portion> portions_;
  std::vector<int64_t> after_last_;  // by worker
  int64_t left_, backups_ = 0;
};

}  // namespace lockstep
