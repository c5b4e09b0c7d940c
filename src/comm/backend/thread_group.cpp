#include "comm/backend/thread_group.h"

namespace lockstep {

// The last rank to fetch the meeting removes it from the map.
std::shared_ptr<Meeting> ThreadGroup::meeting(uint64_t number) {
  const std::lock_guard lock(mutex_);
  auto& [meeting, asked] = meetings_[number];
  if (!meeting) meeting = std::make_shared<Meeting>(size);
  std::shared_ptr<Meeting> found = meeting;
  if (++asked == size) meetings_.erase(number);
  return found;
}

std::shared_ptr<ThreadGroup> ThreadGroup::subgroup(uint64_t number, int color, int members) {
  const std::lock_guard lock(mutex_);
  auto& [group, asked] = subgroups_[{number, color}];
  if (!group) group = std::make_shared<ThreadGroup>(members, timeout, patience, failed, simulation);
  std::shared_ptr<ThreadGroup> found = group;
  if (++asked == members) subgroups_.erase({number, color});
  return found;
}

}  // namespace lockstep
