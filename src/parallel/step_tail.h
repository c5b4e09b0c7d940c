#pragma once

#include <cstdint>
#include <span>

#include "parallel/step_result.h"
#include "tensor/kernel.h"

namespace lockstep {

// Figures of a step that are sent behind its gradients, which saves a message. A double is sent as
// two floats; integers below 2^24 are exact.
struct StepTail {
  LossSums sums;
  int64_t rows = 0;
  bool stop = false;

  static StepTail of(const StepResult& result) {
    return {{result.loss, result.correct}, result.rows, result.stop};
  }
  void put_into(StepResult& result) const {
    result.loss = sums.loss;
    result.correct = sums.correct;
    result.rows = rows;
    result.stop = stop;
  }

  void write(std::span<float> tail) const {
    tail[0] = static_cast<float>(sums.loss);
    tail[1] = static_cast<float>(sums.loss - static_cast<double>(tail[0]));
    tail[2] = static_cast<float>(sums.correct);
    tail[3] = static_cast<float>(rows);
    tail[4] = stop ? 1.0f : 0.0f;
  }
  static StepTail read(std::span<const float> tail) {
    return {{static_cast<double>(tail[0]) + static_cast<double>(tail[1]),
             static_cast<int64_t>(tail[2])},
            static_cast<int64_t>(tail[3]),
            tail[4] > 0};
  }
};

}  // namespace lockstep
