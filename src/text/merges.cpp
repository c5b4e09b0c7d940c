#include "text/merges.h"

#include <algorithm>
#include <bit>
#include <map>

namespace lockstep {

Merges::Merges(size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

size_t Merges::first_slot(uint64_t key) const {
  return (key * 0x9e3779b97f4a7c15u >> 32) & (slots_.size() - 1);
}

void Merges::add(int32_t left, int32_t right, int32_t token) {
  const uint64_t key = key_of(left, right);
  size_t at = first_slot(key);
  while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {key, {count_++, token}};
}

const Merges::Merge* Merges::find(int32_t left, int32_t right) const {
  const uint64_t key = key_of(left, right);
  for (size_t at = first_slot(key); slots_[at].key != 0; at = (at + 1) & (slots_.size() - 1))
    if (slots_[at].key == key) return &slots_[at].merge;
  return nullptr;
}

void Merges::apply(std::vector<int32_t>& tokens) const {
  constexpr size_t longest_short = 48;
  if (tokens.size() <= longest_short)
    apply_to_short(tokens);
  else
    apply_to_long(tokens);
}

// Searches for the lowest rank again after each merge: fastest for words.
void Merges::apply_to_short(std::vector<int32_t>& tokens) const {
  std::vector<Merge> next(tokens.size());  // of each token with its successor
  constexpr Merge none{INT32_MAX, -1};
  const auto look = [&](size_t i) {
    const Merge* found = i + 1 < tokens.size() ? find(tokens[i], tokens[i + 1]) : nullptr;
    next[i] = found ? *found : none;
  };
  for (size_t i = 0; i < tokens.size(); ++i) look(i);
  while (tokens.size() > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < tokens.size(); ++i)
      if (next[i].rank < next[best].rank) best = i;
    if (next[best].rank == none.rank) return;
    tokens[best] = next[best].token;
    tokens.erase(tokens.begin() + static_cast<int64_t>(best) + 1);
    next.erase(next.begin() + static_cast<int64_t>(best) + 1);
    look(best);
    if (best > 0) look(best - 1);
  }
}

// By ascending rank: a merge only creates pairs of higher ranks, so each position is visited a few
// times, independently of the length of the text.
void Merges::apply_to_long(std::vector<int32_t>& tokens) const {
  constexpr int32_t gone = -1;
  const auto count = static_cast<uint32_t>(tokens.size());
  std::vector<uint32_t> before(count), after(count);
  std::map<int32_t, std::vector<uint32_t>> places;  // rank to positions of its left tokens
  const auto look = [&](uint32_t at) {
    if (after[at] >= count) return;
    if (const Merge* found = find(tokens[at], tokens[after[at]])) places[found->rank].push_back(at);
  };
  for (uint32_t i = 0; i < count; ++i) before[i] = i - 1, after[i] = i + 1;
  for (uint32_t i = 0; i < count; ++i) look(i);
  while (!places.empty()) {
    auto lowest = places.extract(places.begin());
    std::vector<uint32_t>& at = lowest.mapped();
    std::sort(at.begin(), at.end());
    std::vector<uint32_t> merged;
    for (const uint32_t left : at) {
      if (tokens[left] == gone || after[left] >= count) continue;
      const uint32_t right = after[left];
      const Merge* found = find(tokens[left], tokens[right]);
      if (!found || found->rank != lowest.key()) continue;
      tokens[left] = found->token;
      tokens[right] = gone;
      after[left] = after[right];
      if (after[left] < count) before[after[left]] = left;
      merged.push_back(left);
    }
    for (const uint32_t left : merged) {
      look(left);
      if (before[left] < count) look(before[left]);
    }
  }
  std::erase(tokens, gone);
}

}  // namespace lockstep
