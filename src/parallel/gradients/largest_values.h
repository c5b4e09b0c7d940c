#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

// Selects the largest gradients (top-k), with error feedback: what is not sent is added to the
// gradients of the next step. Momentum is applied before the selection and the update is plain SGD
// (momentum correction, Lin et al., Deep Gradient Compression); if all values are sent, this is SGD
// with momentum.
class LargestValues {
 public:
  struct Momentum {
    float factor = 0;
    bool nesterov = false;
  };
  // `share`: part of the values that is sent. `size`: of all gradients.
  LargestValues(double share, size_t size, const Momentum& momentum);

  // A value and its index.
  struct Entry {
    uint32_t index;
    float value;
  };
  size_t count(size_t values) const;  // number of values that are selected; at least 1
  // Selects from the gradients that begin at `at` in the arena, in ascending order of indices.
  // Values of the same size are taken in this order too.
  void select(std::span<const float> gradients, size_t at, std::span<Entry> selected);

  // What is left to send, and its momentum: part of a checkpoint.
  std::vector<std::span<float>> arrays();

 private:
  double share_;
  Momentum momentum_;
  std::vector<float> left_, velocity_;
};

void add_entries(std::span<const LargestValues::Entry> entries, std::span<float> sum);

}  // namespace lockstep
