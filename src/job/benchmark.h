#pragma once

#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "train/diagnosis.h"
#include "train/probe/held_batches.h"

namespace lockstep {

// Steps of steady training, without reading data or evaluating.
struct BenchmarkSteps {
  std::string device;
  int64_t samples = 0;          // per step, over all ranks
  std::vector<double> seconds;  // of each step

  double typical() const;  // the median
  double best() const;
  double rate(double step_seconds) const { return static_cast<double>(samples) / step_seconds; }
};

struct LayerTimes {
  std::string layer, kernel;
  double forward = 0, backward = 0;  // seconds, medians
};

// One rank: steps, times per layer and the share of the arithmetic peak.
struct Benchmark {
  BenchmarkSteps steps;
  std::vector<LayerTimes> layers;
  double update = 0;      // seconds, median
  double flops = 0;       // dense-equivalent, per sample
  double sgemm_peak = 0;  // flops per second
  double share_of_peak() const { return flops * steps.rate(steps.typical()) / sgemm_peak; }
};
Benchmark run_benchmark(RunConfig config, const HeldBatches& held, double seconds);

// Several ranks with the configured strategy, each on its device. All ranks call it; only rank 0
// gets a result.
struct RankBenchmark {
  BenchmarkSteps steps;
  int64_t batch_per_rank = 0, global_batch = 0;
  ParallelFigures figures;
};
std::optional<RankBenchmark> run_rank_benchmark(const RunConfig& config, const HeldBatches& held,
                                                double seconds, Communicator& ranks,
                                                Device& device);

}  // namespace lockstep
