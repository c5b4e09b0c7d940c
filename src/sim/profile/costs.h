#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/profile/quietness.h"

namespace lockstep {

// In longer steps software overhead is negligible. Shorter ones spread far on an idle machine too:
// a step of 1.5 microseconds had a median of 1.6 times the undisturbed step.
constexpr double short_step = 100e-6;  // seconds

// How much longer than an undisturbed step the median is, where that tells of a disturbance.
inline double telling_spread(double undisturbed, double median) {
  return undisturbed < short_step ? 0 : median / undisturbed - 1;
}

// Seconds that a prepared kernel takes for all the rows it was prepared for.
struct KernelCost {
  std::string kernel;
  double forward = 0, backward = 0;
};

// What a step costs one rank, undisturbed.
struct StepCost {
  std::vector<KernelCost> kernels;  // in the order in which a network prepares them
  double micro_batch = 0;           // loss, and all else that comes with a micro-batch
  double inference = 1;             // forward where nothing is learnt, as a share of forward
  double norm = 0, update = 0;      // of all parameters
  double add = 0;                   // seconds a float, where gradients are summed
  double copy = 0;                  // the same, where they are packed and unpacked
  // Seconds per float where a parameter server updates a network with sparse inputs as a whole, not
  // only the rows that were touched.
  double whole_update = 0;
  // With sparse inputs: how much longer a step takes after a message of the whole arrays, which
  // leaves its rows in no cache.
  double after_whole_arrays = 0;
  double load = 0;  // seconds per row
  // Whole steps against undisturbed ones: their median, and how far medians of 20 ms of steps went
  // (5% and 95% of these medians).
  double typical = 1, low = 1, high = 1;

  double step() const;                  // one micro-batch, forward to update
  void scale_arithmetic(double times);  // arithmetic takes this many times as long
};

// The same for a network and micro-batches of this many rows, as measured with 1, 2, ... ranks at
// once on one machine: they share caches, memory and the budget of heat.
struct NetworkCosts {
  int64_t rows = 0;
  int64_t parameters = 0;  // floats that a step updates
  std::string measured;    // when
  Quietness quietness;
  std::map<int, StepCost> by_ranks;

  double spread() const;  // the largest telling_spread()
  // A measurement that was not disturbed instead of one that was. Else the quicker of the two for
  // each number of ranks, and medians between those of both.
  void keep_better(const NetworkCosts& other);
};

// What a rank of `threads` threads would cost, more than there are cores to measure them on: by
// Amdahl's law from 1 thread and from `measured_threads`.
struct ThreadScaling {
  double serial = 0;  // share of a step that more threads do not shorten
  double at(int threads) const { return serial + (1 - serial) / threads; }
};
ThreadScaling thread_scaling(const NetworkCosts& one, const NetworkCosts& most,
                             int measured_threads);

// With so many ranks on a node of so many cores, of a processor that is `speed` times as fast. A
// node is taken to be balanced as the measured machine is: as full, it slows down as much.
StepCost cost_on_node(const NetworkCosts& costs, int measured_cores, int ranks, int cores);

// Seconds by bytes: straight lines between what was measured, and beyond.
class SizeTable {
 public:
  void add(double bytes, double seconds) { points_.emplace_back(bytes, seconds); }
  bool empty() const { return points_.empty(); }
  double at(double bytes) const;
  void keep_quicker(const SizeTable& other);  // where both have the same sizes
  double largest() const { return points_.empty() ? 0 : points_.back().first; }
  const std::vector<std::pair<double, double>>& points() const { return points_; }

 private:
  std::vector<std::pair<double, double>> points_;  // ascending
};

}  // namespace lockstep
