#pragma once

#include <string>
#include <vector>

namespace lockstep {

// What a rank did when; shown later, one lane a rank.
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
  static constexpr size_t most_events = 200'000;  // a viewer gives up long before
  std::vector<Event> events_;
};

}  // namespace lockstep
