#include "sim/profile/costs.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace lockstep {
namespace {

double between(double a, double b, double share) { return a + (b - a) * share; }

StepCost between(const StepCost& a, const StepCost& b, double share) {
  StepCost c = a;
  for (size_t i = 0; i < c.kernels.size(); ++i) {
    c.kernels[i].forward = between(a.kernels[i].forward, b.kernels[i].forward, share);
    c.kernels[i].backward = between(a.kernels[i].backward, b.kernels[i].backward, share);
  }
  c.micro_batch = between(a.micro_batch, b.micro_batch, share);
  c.inference = between(a.inference, b.inference, share);
  c.norm = between(a.norm, b.norm, share);
  c.update = between(a.update, b.update, share);
  c.add = between(a.add, b.add, share);
  c.copy = between(a.copy, b.copy, share);
  c.whole_update = between(a.whole_update, b.whole_update, share);
  c.after_whole_arrays = between(a.after_whole_arrays, b.after_whole_arrays, share);
  c.load = between(a.load, b.load, share);
  c.typical = between(a.typical, b.typical, share);
  c.low = between(a.low, b.low, share);
  c.high = between(a.high, b.high, share);
  return c;
}

// The faster of two, with the average of their medians and bands: one measurement says little about
// these.
StepCost quicker_of(const StepCost& a, const StepCost& b, bool b_is_quicker) {
  StepCost kept = b_is_quicker ? b : a;
  for (const auto share : {&StepCost::typical, &StepCost::low, &StepCost::high})
    kept.*share = std::max(1.0, (a.*share * a.step() + b.*share * b.step()) / 2 / kept.step());
  return kept;
}

}  // namespace

double StepCost::step() const {
  double sum = micro_batch + norm + update;
  for (const KernelCost& k : kernels) sum += k.forward + k.backward;
  return sum;
}

StepCost cost_on_node(const NetworkCosts& costs, int measured_cores, int ranks, int cores) {
  ENSURE(!costs.by_ranks.empty());
  ranks = std::min(ranks, cores);
  double like = ranks;  // number of ranks that fill the measured machine equally
  if (cores > 1 && cores != measured_cores)
    like = 1 + static_cast<double>(ranks - 1) * (measured_cores - 1) / (cores - 1);
  auto after = costs.by_ranks.lower_bound(static_cast<int>(std::ceil(like)));
  if (after == costs.by_ranks.end()) return costs.by_ranks.rbegin()->second;
  if (after == costs.by_ranks.begin() || after->first == like) return after->second;
  const auto before = std::prev(after);
  return between(before->second, after->second,
                 (like - before->first) / (after->first - before->first));
}

void StepCost::scale_arithmetic(double times) {
  for (KernelCost& k : kernels) {
    k.forward *= times;
    k.backward *= times;
  }
  for (double* part : {&micro_batch, &norm, &update, &add, &copy, &whole_update}) *part *= times;
}

double NetworkCosts::spread() const {
  double largest = 0;
  for (const auto& [ranks, cost] : by_ranks)
    largest = std::max(largest, telling_spread(cost.step(), cost.step() * cost.typical));
  return largest;
}

void NetworkCosts::keep_better(const NetworkCosts& other) {
  if (quietness.quiet() != other.quietness.quiet()) {
    if (other.quietness.quiet()) *this = other;
    return;
  }
  // Compares steps including packing and after_whole_arrays. The latter was measured as a
  // difference to the step, so both are kept from the same measurement.
  const auto with_others = [this](const StepCost& c) {
    const double packing =  // and unpacking, with sparse inputs
        c.whole_update > 0 ? 2 * c.copy * static_cast<double>(parameters) : 0;
    return c.step() + c.after_whole_arrays + packing;
  };
  for (const auto& [ranks, cost] : other.by_ranks) {
    const auto [mine, added] = by_ranks.try_emplace(ranks, cost);
    if (!added)
      mine->second = quicker_of(mine->second, cost, with_others(cost) < with_others(mine->second));
  }
  if (other.quietness.slowdown < quietness.slowdown) quietness = other.quietness;
}

ThreadScaling thread_scaling(const NetworkCosts& one, const NetworkCosts& most,
                             int measured_threads) {
  const double ratio = most.by_ranks.at(1).step() / one.by_ranks.at(1).step();
  const double shortest = 1.0 / measured_threads;
  return {std::clamp((ratio - shortest) / (1 - shortest), 0.0, 1.0)};
}

void SizeTable::keep_faster(const SizeTable& other) {
  for (size_t i = 0; i < points_.size() && i < other.points_.size(); ++i)
    if (points_[i].first == other.points_[i].first)
      points_[i].second = std::min(points_[i].second, other.points_[i].second);
}

double SizeTable::at(double bytes) const {
  if (points_.empty()) return 0;
  if (bytes <= points_.front().first || points_.size() == 1) return points_.front().second;
  auto after = std::lower_bound(points_.begin(), points_.end(), std::pair(bytes, 0.0));
  if (after == points_.end()) --after;
  const auto before = std::prev(after);
  const double slope = (after->second - before->second) / (after->first - before->first);
  return std::max(0.0, before->second + slope * (bytes - before->first));
}

}  // namespace lockstep
