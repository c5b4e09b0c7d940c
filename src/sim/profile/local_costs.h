#pragma once

#include <algorithm>

#include "comm/algorithms/all_reduce.h"
#include "comm/collective.h"
#include "sim/profile/profile.h"

namespace lockstep {

// What messages between MPI ranks of one node cost the processor: there is no network card, ranks
// copy. Taken from what two ranks were measured to need.
class LocalCosts {
 public:
  explicit LocalCosts(const std::map<std::string, SizeTable>& tables) : tables_(tables) {}

  double latency() const { return at(exchange, smallest); }
  // Of the one that receives.
  double receive(Collective operation, double bytes) const {
    return std::max(0.0, at(operation, bytes) - at(operation, smallest));
  }
  // Of a part that arrives, of an all-reduce or a reduce without its sum. A byte of a large array,
  // most of which is in no cache, takes longer.
  double receive_part(Collective operation, double whole, double part) const {
    if (whole <= 0) return 0;
    const double sums = operation == Collective::broadcast ? 0 : add(whole / 2);
    return std::max(0.0, receive(operation, whole) - sums) * part / whole;
  }
  // What calling it costs each rank, however small the message.
  double call(Collective operation) const {
    return std::max(0.0, at(operation, smallest) - latency()) + latency() / 3;
  }
  // The sum of an arrived segment: what an all-reduce takes beyond its two exchanges.
  double add(double bytes) const {
    if (bytes <= 0) return 0;
    const double segment = std::min(bytes, largest_segment);
    const double seconds = at(Collective::all_reduce, 2 * segment) - 2 * at(exchange, segment);
    return std::max(0.0, seconds) * bytes / segment;
  }

 private:
  static constexpr double smallest = 64, largest_segment = all_reduce_segment;

  static constexpr const char* exchange = "exchange";  // there and back, halved

  double at(Collective operation, double bytes) const { return at(to_text(operation), bytes); }
  double at(const char* table, double bytes) const {
    const auto found = tables_.find(table);
    return found == tables_.end() ? 0 : found->second.at(bytes);
  }

  const std::map<std::string, SizeTable>& tables_;
};

}  // namespace lockstep
