#pragma once

#include "comm/backend/threads.h"
#include "train/train_testing.h"

namespace lockstep {

// A training run on threads, and the state of each rank at its end.
struct ParallelTraining {
  std::vector<std::vector<float>> weights, states;  // of each rank
  Summary summary;                                  // rank 0's
  Record record;                                    // rank 0's

  explicit ParallelTraining(const RunConfig& config, const fs::path& checkpoints = {},
                            bool resumes = false, int64_t stop_at = 0)
      : weights(static_cast<size_t>(config.parallel.ranks)), states(weights.size()) {
    const DataSplits data = load_data(config.data, static_cast<uint64_t>(config.seed));
    record.stop_at = stop_at;
    run_thread_ranks(static_cast<int>(config.parallel.ranks), 60, [&](Communicator& ranks) {
      const WallClock clock;
      const auto device = make_test_device(config.device);
      Observer silent;
      Trainer trainer(config, ranks, *device, clock, data,
                      ranks.rank() == 0 ? static_cast<Observer&>(record) : silent);
      trainer.keep_checkpoints_in({.folder = checkpoints});
      if (resumes) trainer.resume(checkpoints);
      const Summary mine = trainer.run(record.stop);
      if (ranks.rank() == 0) summary = mine;
      const auto rank = static_cast<size_t>(ranks.rank());
      weights[rank] = copy_of(trainer.parameters().weights_on_host());
      states[rank] = copy_of(trainer.parameters().state_on_host());
    });
  }
};

inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : 1e9;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(double(a[i]) - double(b[i])));
  return largest;
}

}  // namespace lockstep
