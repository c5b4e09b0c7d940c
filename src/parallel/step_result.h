#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// Where the time of a step went, on one rank, in seconds.
struct StepTimes {
  double load = 0;     // waiting for samples
  double compute = 0;  // forward, backward, update
  double hidden = 0;   // communication while the backward pass went on
  double exposed = 0;  // communication that nothing hid
  double waiting = 0;  // for ranks that had not come yet

  StepTimes& operator+=(const StepTimes& other) {
    load += other.load;
    compute += other.compute;
    hidden += other.hidden;
    exposed += other.exposed;
    waiting += other.waiting;
    return *this;
  }
};

// Something that a strategy measures beside the usual.
struct NamedFigure {
  std::string name;
  double value = 0;
};

struct StepResult {
  int64_t step = 0;      // within the epoch, from 1
  bool skipped = false;  // this rank had no samples and took no part: nothing else is set
  double loss = 0;       // summed over `rows`
  int64_t correct = 0, rows = 0;
  double gradient_norm = 0, learning_rate = 0;
  double gradient_seconds = 0;  // forward and backward
  StepTimes times;
  bool stop = false;  // a rank was asked to stop
};

}  // namespace lockstep
