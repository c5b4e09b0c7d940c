#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/parameters.h"

namespace lockstep {

// Weights and running statistics as they were at the end of an epoch.
struct Snapshot {
  int64_t epoch = 0;
  std::vector<float> weights, state;
  bool taken = false;

  bool empty() const { return !taken; }  // not: a stage may have no weights
};

Snapshot take_snapshot(const Parameters& parameters, int64_t epoch);
void restore(const Snapshot& snapshot, Parameters& parameters);

std::vector<float> copy_to_host(const HostMirror& memory);
void copy_from_host(std::span<const float> values, const HostMirror& memory);

bool all_finite(const HostMirror& memory);

}  // namespace lockstep
