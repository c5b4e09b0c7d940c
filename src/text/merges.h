#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// The merges of byte-pair encoding: which pairs of neighbours become one token. The pair of the
// lowest rank is merged first, from left to right. A pair consists of bytes and of tokens of lower
// ranks.
class Merges {
 public:
  struct Merge {
    int32_t rank, token;
  };

  explicit Merges(size_t count);
  void add(int32_t left, int32_t right, int32_t token);  // ranks ascend in the order of calls
  const Merge* find(int32_t left, int32_t right) const;
  size_t size() const { return static_cast<size_t>(count_); }

  // Merges in place until no pair is left to merge.
  void apply(std::vector<int32_t>& tokens) const;

 private:
  struct Slot {
    uint64_t key = 0;  // 0: free
    Merge merge{};
  };
  static uint64_t key_of(int32_t left, int32_t right) {
    return (static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right)) + 1;
  }
  size_t first_slot(uint64_t key) const;
  void apply_to_short(std::vector<int32_t>& tokens) const;
  void apply_to_long(std::vector<int32_t>& tokens) const;

  std::vector<Slot> slots_;  // open addressing, at most half full
  int32_t count_ = 0;
};

}  // namespace lockstep
