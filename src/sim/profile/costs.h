#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/profile/quietness.h"

namespace lockstep {

// In longer steps software overhead is negligible. Shorter ones vary widely even on an idle
// machine: a step of 1.5 microseconds had a median of 1.6 times the undisturbed step.
constexpr double short_step = 100e-6;  // seconds

// Relative excess of the median over the undisturbed step. 0 for short steps, whose spread does not
// indicate a disturbance.
inline double telling_spread(double undisturbed, double median) {
  return undisturbed < short_step ? 0 : median / undisturbed - 1;
}

// Seconds of a kernel for the number of rows it was prepared for.
struct KernelCost {
  std::string kernel;
  double forward = 0, backward = 0;
};

// Undisturbed costs of a step on one rank.
struct StepCost {
  std::vector<KernelCost> kernels;  // in the order a network prepares them
  double micro_batch = 0;           // loss, and everything else per micro-batch
  double inference = 1;             // forward time in evaluation, relative to training
  double norm = 0, update = 0;      // seconds for all parameters that a step updates
  double add = 0;                   // seconds per float to sum gradients
  double copy = 0;                  // seconds per float to pack or unpack gradients
  // With sparse inputs: seconds per float when a parameter server updates the whole network, not
  // only the touched rows.
  double whole_update = 0;
  // With sparse inputs: extra seconds of a step after a message of the whole arrays, which evicts
  // its rows from the caches.
  double after_whole_arrays = 0;
  double load = 0;  // seconds per row
  // Relative to the undisturbed step: the median step, and the 5th and 95th percentile of the
  // medians of 20 ms of steps.
  double typical = 1, low = 1, high = 1;

  double step() const;                  // one micro-batch, forward to update
  void scale_arithmetic(double times);  // multiplies the costs of arithmetic
};

// Step costs of a network with micro-batches of `rows` rows, measured with 1, 2, ... ranks at the
// same time on one machine: they share caches, memory and the heat budget.
struct NetworkCosts {
  int64_t rows = 0;
  int64_t parameters = 0;  // floats that a step updates
  std::string measured;    // when
  Quietness quietness;
  std::map<int, StepCost> by_ranks;

  double spread() const;  // the largest telling_spread()
  // Prefers an undisturbed measurement to a disturbed one. Otherwise keeps the faster one per
  // number of ranks, and the average of their medians.
  void keep_better(const NetworkCosts& other);
};

// Relative cost of a rank with more threads than the measured machine has cores, extrapolated by
// Amdahl's law from 1 and from `measured_threads` threads.
struct ThreadScaling {
  double serial = 0;  // share of a step that does not get faster with threads
  double at(int threads) const { return serial + (1 - serial) / threads; }
};
ThreadScaling thread_scaling(const NetworkCosts& one, const NetworkCosts& most,
                             int measured_threads);

// Costs with `ranks` ranks on a node with `cores` cores. A node is assumed to slow down as much as
// the measured machine does when it is equally full.
StepCost cost_on_node(const NetworkCosts& costs, int measured_cores, int ranks, int cores);

// Seconds by bytes: interpolated linearly between measurements, extrapolated above the largest.
class SizeTable {
 public:
  void add(double bytes, double seconds) { points_.emplace_back(bytes, seconds); }
  bool empty() const { return points_.empty(); }
  double at(double bytes) const;
  void keep_faster(const SizeTable& other);  // where both have the same sizes
  double largest() const { return points_.empty() ? 0 : points_.back().first; }
  const std::vector<std::pair<double, double>>& points() const { return points_; }

 private:
  std::vector<std::pair<double, double>> points_;  // ascending
};

}  // namespace lockstep
