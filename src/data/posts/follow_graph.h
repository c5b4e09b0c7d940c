#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

// Who follows whom among the accounts of a data set. Some follows may be hidden, to test whether a
// recommender finds them.
class FollowGraph {
 public:
  explicit FollowGraph(std::vector<std::string> accounts)
      : accounts_(std::move(accounts)),
        groups_(accounts_.size()),
        edges_(accounts_.size() * accounts_.size()) {}

  int64_t size() const { return static_cast<int64_t>(accounts_.size()); }
  const std::vector<std::string>& accounts() const { return accounts_; }
  const std::vector<std::string>& groups() const { return groups_; }  // "" where unknown
  void set_group(int64_t account, std::string group) {
    groups_[static_cast<size_t>(account)] = std::move(group);
  }
  bool has_groups() const;

  void add(int64_t user, int64_t followee) { edge(user, followee) = known_edge; }
  bool follows(int64_t user, int64_t account) const { return at(user, account) != 0; }
  bool knows(int64_t user, int64_t account) const { return at(user, account) == known_edge; }
  bool hides(int64_t user, int64_t account) const { return at(user, account) == hidden_edge; }
  int64_t edges() const;
  int64_t hidden(int64_t user) const;  // number of hidden follows

  // Hides a random fraction of each user's follows.
  void hide(double share, uint64_t seed);

 private:
  static constexpr uint8_t known_edge = 1, hidden_edge = 2;
  uint8_t& edge(int64_t user, int64_t other) {
    return edges_[static_cast<size_t>(user * size() + other)];
  }
  uint8_t at(int64_t user, int64_t other) const {
    return edges_[static_cast<size_t>(user * size() + other)];
  }

  std::vector<std::string> accounts_, groups_;
  std::vector<uint8_t> edges_;
};

}  // namespace lockstep
