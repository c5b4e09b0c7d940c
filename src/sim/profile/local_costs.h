#pragma once

#include <algorithm>

#include "comm/algorithms/swap.h"
#include "comm/collective.h"
#include "sim/profile/profile.h"

namespace lockstep {

// Core time of messages between MPI ranks of one node, which copy them without a network card.
// Derived from measurements of two ranks.
class LocalCosts {
 public:
  explicit LocalCosts(const std::map<std::string, SizeTable>& tables) : tables_(tables) {}

  double latency() const { return at(exchange, smallest); }
  // Cost to the receiver, beyond that of the smallest message.
  double receive(Collective operation, double bytes) const {
    return std::max(0.0, at(operation, bytes) - at(operation, smallest));
  }
  // Cost to receive `part` bytes of an operation on `whole` bytes, without the addition. Derived
  // from the whole because large arrays do not fit the caches and take longer per byte.
  double receive_part(Collective operation, double whole, double part) const {
    if (whole <= 0) return 0;
    const bool sums = operation == Collective::all_reduce || operation == Collective::reduce;
    const double adding = sums ? add(whole / 2) : 0;
    return std::max(0.0, receive(operation, whole) - adding) * part / whole;
  }
  // Fixed cost of a call for each rank, independent of the size.
  double call(Collective operation) const {
    return std::max(0.0, at(operation, smallest) - latency()) + latency() / 3;
  }
  // Cost to add received segments: the time of an all-reduce beyond its two exchanges.
  double add(double bytes) const {
    if (bytes <= 0) return 0;
    const double segment = std::min(bytes, largest_segment);
    const double seconds = at(Collective::all_reduce, 2 * segment) - 2 * at(exchange, segment);
    return std::max(0.0, seconds) * bytes / segment;
  }

 private:
  static constexpr double smallest = 64, largest_segment = swap_segment;

  // Both ranks send and receive at the same time.
  static constexpr const char* exchange = "exchange";

  double at(Collective operation, double bytes) const { return at(to_text(operation), bytes); }
  double at(const char* table, double bytes) const {
    const auto found = tables_.find(table);
    return found == tables_.end() ? 0 : found->second.at(bytes);
  }

  const std::map<std::string, SizeTable>& tables_;
};

}  // namespace lockstep
