#pragma once

#include <optional>

#include "comm/communicator.h"
#include "nn/parameters.h"
#include "optim/optimizer.h"
#include "parallel/gradients/largest_values.h"
#include "parallel/parallel_config.h"

namespace lockstep {

// How ranks send each other the gradients of an arena in host memory, or other values to sum, as
// parallel.compress says. Figures that follow them in the arena are never compressed.
class GradientExchange {
 public:
  // `optimizer`: of the run. With top-k its momentum is part of the selection.
  GradientExchange(Communicator& ranks, const Parameters& parameters, const ParallelConfig& config,
                   const OptimizerConfig& optimizer);
  // For values that are not gradients.
  GradientExchange(Communicator& ranks, std::span<const float> arena, const ParallelConfig& config);

  // In-place sum over all ranks, the same bits on each.
  Request all_reduce(std::span<float> gradients);
  // The same, summed on rank 0 and broadcast. Returns the seconds of waiting for other ranks.
  double reduce_and_broadcast(std::span<float> gradients);

  // Gradients as one message, whose size depends on their number alone. The last `figures` values
  // are not compressed. pack() returns the gradients themselves if none are, else `packet`.
  size_t packet_bytes(size_t gradients, size_t figures) const;
  ConstBytes pack(std::span<float> gradients, size_t figures, Bytes packet);
  void unpack(ConstBytes packet, std::span<float> gradients, size_t figures);
  bool compresses() const { return compression_ != Compression::none; }

  // Arrays of this rank that a checkpoint needs.
  std::vector<std::span<float>> arrays();

 private:
  using Entry = LargestValues::Entry;
  size_t figures_in(std::span<const float> gradients) const;
  size_t packed_values(size_t values) const;  // bytes
  Request all_reduce_largest(std::span<float> gradients);
  double reduce_and_broadcast_largest(std::span<float> gradients);
  void sum_packets(ConstBytes packets, std::span<float> gradients, size_t figures);

  GradientExchange(Communicator& ranks, std::span<const float> arena, size_t figures,
                   const ParallelConfig& config, const LargestValues::Momentum& momentum);

  Communicator& ranks_;
  std::span<const float> arena_;
  size_t figures_;  // at the end of the arena
  bool computes_;   // false: a simulation whose messages only take time
  Compression compression_;
  std::optional<LargestValues> largest_;
};

// The optimiser that applies exchanged gradients: with top-k, momentum has already been applied.
OptimizerConfig update_after_exchange(const ParallelConfig& config, OptimizerConfig optimizer,
                                      int ranks);

}  // namespace lockstep
