#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// Times of a step on one rank, in seconds.
struct StepTimes {
  double load = 0;     // waiting for samples
  double compute = 0;  // forward, backward, update
  double hidden = 0;   // communication during the backward pass
  double exposed = 0;  // communication not hidden by the backward pass
  double waiting = 0;  // waiting for slower ranks

  StepTimes& operator+=(const StepTimes& other) {
    load += other.load;
    compute += other.compute;
    hidden += other.hidden;
    exposed += other.exposed;
    waiting += other.waiting;
    return *this;
  }
};

// An additional figure of a strategy or of a kind of data.
struct NamedFigure {
  std::string name;
  double value = 0;
};

struct StepResult {
  int64_t step = 0;      // within the epoch, from 1
  bool skipped = false;  // this rank had no samples and did nothing; no other field is set
  double loss = 0;       // summed over `rows`
  int64_t correct = 0, rows = 0;
  double gradient_norm = 0, learning_rate = 0;
  double gradient_seconds = 0;  // forward and backward
  StepTimes times;
  bool stop = false;  // a rank was asked to stop
};

}  // namespace lockstep
