#pragma once

#include <map>
#include <utility>
#include <vector>

#include "tensor/device.h"
#include "tensor/host_mirror.h"

namespace lockstep {

// Adds arrays, one per portion, as a binary tree: the same additions whatever the order in which
// they arrive. Arrays wait only for their neighbour in the tree.
class TreeSum {
 public:
  struct Array {
    DeviceMemory memory;
    HostMirror mirror;
  };

  TreeSum(Device& device, size_t floats) : device_(device), floats_(floats) {}

  // Begins a sum of so many portions, a power of two.
  void begin(int64_t portions);
  // An array to fill and to add.
  Array take();
  void add(int64_t portion, Array array);
  bool has(int64_t portion) const { return added_[static_cast<size_t>(portion)]; }
  bool complete() const { return sums_.size() == 1 && sums_.begin()->first.first == levels_; }
  std::span<const float> sum() const { return sums_.begin()->second.memory.floats(); }
  void give_back(Array array) { free_.push_back(std::move(array)); }

 private:
  Device& device_;
  size_t floats_;
  int levels_ = 0;
  std::vector<bool> added_;
  std::map<std::pair<int, int64_t>, Array> sums_;  // by level and index; without a neighbour yet
  std::vector<Array> free_;
};

}  // namespace lockstep
