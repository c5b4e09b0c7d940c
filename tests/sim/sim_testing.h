#pragma once

#include <gtest/gtest.h>

#include "comm/backend/self.h"
#include "data/data_testing.h"
#include "data/fetch/folders.h"
#include "data/load.h"
#include "sim/measure/calibrate.h"
#include "sim/measure/measure_network.h"
#include "sim/measure/timed_device.h"
#include "sim/point/simulation.h"
#include "tensor/device/reference/reference_device.h"
#include "train/probe/step_probe.h"

namespace lockstep {

inline std::map<std::string, SizeTable> fixed_tables() {
  std::map<std::string, SizeTable> tables;
  for (const char* name : {"exchange", "receive", "all-reduce", "reduce", "broadcast", "gather",
                           "scatter", "all-gather", "barrier"}) {
    const double times = std::string(name) == "all-reduce" ? 2.5 : 1;
    for (double bytes = 64; bytes <= (32 << 20); bytes *= 2)
      tables[name].add(bytes, times * (1e-6 + bytes / 8e9));
  }
  return tables;
}

// A small network whose kernels take round times, so that predictions can be pinned.
struct FixedProfile {
  RunConfig config;
  DataSplits data;
  Profile profile;

  FixedProfile() {
    config.name = "fixed";
    config.model.layers = {"dense 50 relu", "dense 3"};
    config.data.name = "iris";
    config.data.test = 0.2;
    config.train.batch = 8;
    config.train.epochs = 2;
    data = load_data(config.data, 1);
    profile.machine = "a machine of the tests";
    profile.cores = 2;
    profile.version = LOCKSTEP_VERSION;
    profile.measured = time_text();
    profile.threads = profile.mpi = fixed_tables();
    add(config);
  }

  void add(const RunConfig& with, int64_t rows = 8) {
    NetworkCosts costs = costs_of(with, rows);
    costs.by_ranks[2] = costs.by_ranks.at(1);
    costs.measured = time_text();
    for (auto& [ranks, cost] : costs.by_ranks) {
      for (KernelCost& k : cost.kernels) k = {k.kernel, 1e-3 * ranks, 2e-3 * ranks};
      cost.micro_batch = 1e-4;
      cost.norm = 1e-4;
      cost.update = 5e-4;
      cost.add = 1e-9;
      cost.copy = 1e-9;
      cost.after_whole_arrays = 0;
      cost.load = 1e-5;
      cost.inference = 0.5;
      cost.typical = cost.low = 1;
      cost.high = 1.05;
    }
    profile.networks[network_key(with, data.train->sample_shape(), rows)] = costs;
  }

 private:
  // The names of the network's kernels, which preparing it tells; nothing is measured.
  NetworkCosts costs_of(const RunConfig& with, int64_t rows) const {
    const WallClock clock;
    ReferenceDevice reference;
    TimedDevice timed(reference, clock);
    const auto self = make_self_communicator();
    const HeldBatches held = real_batches(with, data, rows);
    const StepProbe probe(with, held, rows, *self, timed, clock);
    NetworkCosts costs;
    costs.rows = held.micro_batch;
    costs.parameters = bytes_per_step(probe.parameters()) / static_cast<int64_t>(sizeof(float));
    for (const auto& kernel : timed.kernels())
      costs.by_ranks[1].kernels.push_back({kernel->kernel, 0, 0});
    return costs;
  }
};

// Two cores; time passes and work is done only when a test says so.
class FakeMachine final : public ObservedMachine {
 public:
  struct Work {
    double own = 0, others = 0, stolen = 0;  // core seconds
  };
  void pass(double seconds, const Work& work) {
    now_ += seconds;
    sum_.busy += work.own + work.others;
    sum_.own += work.own;
    sum_.stolen += work.stolen;
  }

  int cores() const override { return 2; }
  double now() const override { return now_ += always_busy_ ? 1 : 0; }
  CoreSeconds core_seconds() const override {
    if (always_busy_) sum_.busy += 1;
    return sum_;
  }
  Arithmetic arithmetic() const override {
    ++looks;
    return arithmetic_now;
  }

  // Other programs use a core during every measurement.
  void stay_busy() { always_busy_ = true; }

  Arithmetic arithmetic_now{2e-6, 2e-6};
  mutable int looks = 0;

 private:
  bool always_busy_ = false;
  mutable double now_ = 0;
  mutable CoreSeconds sum_;
};

template <typename Call>
void expect_user_error(Call call, const std::vector<std::string>& parts) {
  expect_says(error_of<UserError>(call), parts);
}

inline Cluster test_cluster(int nodes = 8, int cores = 2) {
  return parse_cluster(fmt::format(R"(name = "test"
[node]
count = {}
cores = {}
memory_gb = 4
[network]
bandwidth_gbit = 1
latency_us = 50
efficiency = 1
)",
                                   nodes, cores),
                       "test.toml");
}

inline Prediction predict(const FixedProfile& fixed, const RunConfig& config,
                          const Cluster& cluster, int64_t ranks, int64_t nodes,
                          Engine engine = Engine::simgrid) {
  const SimulatedPoint point = place_point(config, cluster, ranks, nodes, false);
  return simulate_point(point, fixed.data, fixed.profile, cluster,
                        {.engine = engine, .loading = false});
}

inline RunConfig with_strategy(RunConfig config, const std::string& strategy) {
  choose_strategy(config.parallel, strategy);
  return config;
}

}  // namespace lockstep
