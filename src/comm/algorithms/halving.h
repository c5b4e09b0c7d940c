#pragma once

#include "comm/algorithms/swap.h"

namespace lockstep {

// What a rank works on when it exchanges halves with its peer at `distance`: in each exchange at a
// shorter distance it has kept one half.
struct Halves {
  Halves(std::span<float> data, int rank, int distance);
  int peer;
  std::span<float> mine, others;  // the half that this rank keeps, and its peer's
};

// Exchanges with peers at distance 1, 2, 4, ... For power-of-two groups: each rank then has the sum
// over all ranks of the part that it has kept.
Task sum_by_halving(Channel& ranks, std::span<float> data, const SegmentBuffer& buffer, int tag);

}  // namespace lockstep
