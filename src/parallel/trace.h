#pragma once

#include <string>
#include <vector>

namespace lockstep {

// Timeline of one rank; shown as one lane per rank.
class Trace {
 public:
  struct Event {
    std::string name;
    double start = 0, end = 0;  // seconds of the rank's clock
  };

  void add(std::string name, double start, double end) {
    if (events_.size() < most_events) events_.push_back({std::move(name), start, end});
  }
  const std::vector<Event>& events() const { return events_; }

 private:
  static constexpr size_t most_events = 200'000;  // more than viewers can show
  std::vector<Event> events_;
};

}  // namespace lockstep
