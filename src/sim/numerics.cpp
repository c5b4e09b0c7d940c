#include "sim/numerics.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "os/apart.h"
#include "sim/engine/costed_device.h"
#include "sim/engine/engine.h"
#include "sim/engine/noisy_time.h"
#include "sim/point/simulated_run.h"
#include "train/crossval/cross_validation.h"
#include "train/record/run_folder.h"
#include "train/record/trace_file.h"
#include "train/trainer.h"

namespace lockstep {
namespace {

// A rank with real arithmetic and virtual time.
class NumericRank {
 public:
  NumericRank(const SimulatedPoint& point, const NetworkCosts& costs, const Profile& profile,
              const Cluster& cluster, SimulatedRank& rank)
      : config_(point.config.device),
        costs_(costs),
        cost_(PointCosts(point, costs, profile, cluster).of_rank(rank.ranks.rank())),
        time_(rank.clock, cluster.disturbance.noise, static_cast<uint64_t>(point.config.seed),
              rank.ranks.rank()) {
    cost_.scale_arithmetic(cost_.typical);  // expected, not undisturbed times, as in predictions
    cost_.micro_batch +=
        cost_.load * static_cast<double>(costs.rows);  // loading is charged per micro-batch
  }

  std::unique_ptr<Device> device() {
    insides_.push_back(make_device(config_));
    return std::make_unique<CostedDevice>(cost_, costs_.rows, costs_.parameters, time_,
                                          insides_.back().get());
  }

 private:
  DeviceConfig config_;
  const NetworkCosts& costs_;
  StepCost cost_;
  NoisyTime time_;
  std::vector<std::unique_ptr<Device>> insides_;
};

// Ranks take folds from a queue and must do so in the order of virtual time.
class PunctualTime final : public Clock {
 public:
  explicit PunctualTime(VirtualClock& inside) : inside_(inside) {}
  double seconds() const override {
    inside_.catch_up();
    return inside_.seconds();
  }

 private:
  VirtualClock& inside_;
};

SimulatedJob job_of(const SimulatedPoint& point, const Profile& profile, const Cluster& cluster,
                    const SimulateOptions& options) {
  return {.cluster = cluster,
          .profile = profile,
          .nodes = cluster.place(static_cast<int>(point.config.parallel.ranks), point.per_node),
          .threads = point.config.device.threads,
          .backend = point.config.parallel.backend,
          .collectives = options.collectives,
          .moves_data = true};
}

// Helper threads have no virtual time; TensorBoard files cannot be marked as simulated.
RunConfig without_helpers(RunConfig config) {
  config.data.workers = 0;
  config.report.tensorboard = false;
  return config;
}

}  // namespace

std::string simulate_numerics(const SimulatedPoint& point, const DataSplits& data,
                              const Profile& profile, const Cluster& cluster,
                              const SimulateOptions& options, const fs::path& folder,
                              Observer& progress, const std::atomic<bool>& stop) {
  const RunConfig config = without_helpers(point.config);
  const NetworkCosts costs = known_costs(point, data, profile);
  const SimulatedJob job = job_of(point, profile, cluster, options);
  // Prediction without numerics, for the figures of the summary.
  const Prediction predicted = simulate_point(point, data, profile, cluster, options);
  return run_apart([&] {
    std::string text;
    std::vector<Trace> traces(job.nodes.size());
    run_on_simgrid(job, [&](SimulatedRank& rank) {
      const int r = rank.ranks.rank();
      NumericRank numbers(point, costs, profile, cluster, rank);
      const std::unique_ptr<Device> device = numbers.device();
      Observers observers;
      Trainer trainer(config, rank.ranks, *device, rank.clock, data, observers);
      std::unique_ptr<RunFolder> files;
      if (r == 0) {
        files = std::make_unique<RunFolder>(folder, config);
        observers.add(*files);
        observers.add(progress);
      }
      if (options.trace) trainer.record(traces[static_cast<size_t>(r)]);
      Summary summary = trainer.run(stop);
      if (r != 0) return;
      Summary marked = summary_of(point, predicted, cluster, profile, options, data);
      summary.simulated = marked.simulated;
      summary.device = marked.device;
      summary.peak_memory_bytes = marked.peak_memory_bytes;
      if (summary.parallel) {
        summary.parallel->hosts = predicted.nodes;
        summary.parallel->oversubscribed = predicted.oversubscribed;
      }
      files->save(trainer.parameters(), trainer.network(), data);
      observers.run_ended(summary);
      text = summary_json(summary);
    });
    if (options.trace) {
      std::vector<std::string> lanes;
      for (size_t r = 0; r < traces.size(); ++r)
        lanes.push_back(trace_lane(static_cast<int>(r),
                                   fmt::format("node{} (simulated)", job.nodes[r]), traces[r], 0));
      write_lanes(folder / "trace.json", lanes);
    }
    return text;
  });
}

std::string simulate_crossval(const SimulatedPoint& point, const DataSplits& data,
                              const Profile& profile, const Cluster& cluster,
                              const SimulateOptions& options, const fs::path& folder,
                              const std::atomic<bool>& stop) {
  const RunConfig config = without_helpers(point.config);
  const NetworkCosts costs = known_costs(point, data, profile);
  const SimulatedJob job = job_of(point, profile, cluster, options);
  return run_apart([&] {
    std::string text;
    run_on_simgrid(job, [&](SimulatedRank& rank) {
      NumericRank numbers(point, costs, profile, cluster, rank);
      const PunctualTime time(rank.clock);
      const double start = time.seconds();
      CrossvalSummary summary = cross_validate(config, rank.ranks, data, time, folder, {}, false,
                                               stop, [&] { return numbers.device(); });
      if (rank.ranks.rank() != 0) return;
      summary.total_seconds = time.seconds() - start;
      summary.device = fmt::format("simulated ({})", profile.machine);
      summary.oversubscribed = point.per_node * config.device.threads > cluster.node(0).cores;
      nlohmann::ordered_json json = nlohmann::ordered_json::parse(summary_json(summary));
      json["simulated"] = true;
      json["cluster"] = cluster.name;
      text = json.dump(2) + "\n";
      write_file(folder / "summary.json", text);
    });
    return text;
  });
}

}  // namespace lockstep
