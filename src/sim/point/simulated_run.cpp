#include "sim/point/simulated_run.h"

#include <algorithm>
#include <cmath>

#include "sim/engine/engine.h"
#include "train/diagnosis.h"
#include "train/record/run_folder.h"
#include "train/record/trace_file.h"

namespace lockstep {
namespace {

const double unknown = std::nan("");  // values that are not computed

std::string host_of(const SimulatedPoint& point, size_t rank) {
  return fmt::format("node{}", rank / static_cast<size_t>(point.per_node));
}

// Cores of a rank on its node; consecutive ones if it is not bound.
CoreMask cores_of(const SimulatedPoint& point, const NodePlaces& places, const Cluster& cluster,
                  size_t rank) {
  const auto threads = static_cast<size_t>(point.config.device.threads);
  const size_t all = std::min<size_t>(static_cast<size_t>(cluster.node(0).cores), 1024);
  const size_t of_node = rank % static_cast<size_t>(point.per_node);
  std::vector<int> cores = places.cores[std::min(of_node, places.cores.size() - 1)];
  if (cores.empty())
    for (size_t t = 0; t < threads; ++t)
      cores.push_back(static_cast<int>((of_node * threads + t) % all));
  CoreMask mask{};
  for (const int core : cores)
    if (core < 1024) mask[static_cast<size_t>(core) / 64] |= uint64_t{1} << (core % 64);
  return mask;
}

}  // namespace

Summary summary_of(const SimulatedPoint& point, const Prediction& r, const Cluster& cluster,
                   const Profile& profile, const SimulateOptions& options, const DataSplits& data) {
  const RunConfig& c = point.config;
  const Network network(c.model.layers, data.train->sample_shape());
  Summary s{.name = c.name,
            .data = data.provenance,
            .device = fmt::format("simulated ({}, {} thread{})", profile.machine, r.threads,
                                  r.threads == 1 ? "" : "s"),
            .seed = c.seed,
            .parameters = network.parameter_count(),
            .epochs = r.epochs,
            .train_loss = unknown,
            .train_accuracy = unknown,
            .global_batch = r.global_batch};
  s.gradient_seconds = r.times.compute;
  for (int64_t done = 0; static_cast<double>(done) < r.epochs; ++done)
    s.epoch_seconds.push_back(r.epoch_seconds *
                              std::min(1.0, r.epochs - static_cast<double>(done)));
  s.total_seconds = r.total_seconds;
  s.samples_per_second = static_cast<double>(r.samples) / r.epoch_seconds;
  s.peak_memory_bytes = static_cast<int64_t>(r.memory.sum());
  if (r.ranks > 1) {
    std::vector<RankTimes> ranks;
    const NodePlaces places = places_on_node(c.parallel.affinity, cluster.node(0), point.per_node,
                                             point.per_node, c.device.threads);
    for (size_t i = 0; i < r.by_rank.size(); ++i)
      ranks.push_back({host_of(point, i), cores_of(point, places, cluster, i),
                       static_cast<int>(r.threads), r.by_rank[i]});
    const PipelineShape shape{.schedule = c.parallel.schedule,
                              .stages = static_cast<int>(c.parallel.pipeline),
                              .chunks = c.parallel.chunks_per_stage(),
                              .micro_batches = c.parallel.micro_batches > 0
                                                   ? c.parallel.micro_batches
                                                   : 4 * c.parallel.pipeline};
    s.parallel = summarise(ranks, static_cast<int>(ranks.size()), 1,
                           network.parameter_count() * static_cast<int64_t>(sizeof(float)),
                           r.global_batch, c.parallel.strategy, shape.stages, bubble_of(shape));
    s.parallel->ranks = r.ranks;
    s.parallel->hosts = r.nodes;
    s.parallel->backend = fmt::format("{} (simulated)", to_text(c.parallel.backend));
    s.parallel->oversubscribed = r.oversubscribed;
  }
  s.simulated =
      SimulationFigures{.cluster = cluster.name,
                        .profile = profile.machine,
                        .engine = options.engine == Engine::simgrid ? "simgrid" : "analytic",
                        .step_seconds = r.step_seconds,
                        .undisturbed_step_seconds = r.undisturbed_step_seconds,
                        .low = r.low,
                        .high = r.high,
                        .memory_bytes = static_cast<int64_t>(r.memory.sum()),
                        .disturbed = r.disturbed,
                        .extrapolated = r.extrapolated,
                        .cautions = r.cautions};
  return s;
}

void write_simulated_run(const fs::path& folder, const SimulatedPoint& point, const Prediction& r,
                         const Summary& summary) {
  RunConfig config = point.config;
  config.report.tensorboard = false;  // its files cannot be marked as simulated
  RunFolder files(folder, config);
  const auto epochs = static_cast<int64_t>(summary.epoch_seconds.size());
  for (int64_t epoch = 1; epoch <= epochs; ++epoch)
    files.epoch_done({.epoch = epoch,
                      .global_step = config.train.steps > 0
                                         ? std::min(config.train.steps, epoch * r.steps)
                                         : epoch * r.steps,
                      .loss = unknown,
                      .accuracy = unknown,
                      .seconds = summary.epoch_seconds[static_cast<size_t>(epoch - 1)],
                      .samples_per_second = summary.samples_per_second,
                      .gradient_norm = unknown,
                      .learning_rate = unknown,
                      .validation = std::nullopt});
  files.run_ended(summary);
  if (r.traces.empty()) return;
  std::vector<std::string> lanes;
  for (size_t i = 0; i < r.traces.size(); ++i)
    lanes.push_back(
        trace_lane(static_cast<int>(i), host_of(point, i) + " (simulated)", r.traces[i], 0));
  write_lanes(folder / "trace.json", lanes);
}

}  // namespace lockstep
