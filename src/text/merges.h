#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// Which neighbours become one token, and in which order: the pair of the lowest rank first,
// wherever it is, from the left. A token is only made of bytes and tokens of earlier ranks.
class Merges {
 public:
  struct Merge {
    int32_t rank, token;
  };

  explicit Merges(size_t count);
  void add(int32_t left, int32_t right, int32_t token);  // ranks count up
  const Merge* find(int32_t left, int32_t right) const;
  size_t size() const { return static_cast<size_t>(count_); }

  // Merges all that can be; what is left of the tokens moves to the front.
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
