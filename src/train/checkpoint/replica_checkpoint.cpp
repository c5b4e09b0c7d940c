#include "train/checkpoint/replica_checkpoint.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "os/digests.h"
#include "train/checkpoint/resumable.h"
#include "train/whole_network.h"

namespace lockstep {
namespace {

// Number of ranks per node that algorithms were chosen for; not in checkpoints of 0.1.0.
constexpr const char* layout_key = "ranks_per_node";

// Looks up what a checkpoint must hold; errors name the file.
class CheckpointReader {
 public:
  explicit CheckpointReader(const fs::path& path)
      : path_(path), checkpoint_(load_checkpoint(path)) {}

  const Position& position() const { return checkpoint_.at; }
  bool has(const std::string& name) const {
    const auto found = checkpoint_.arrays.find(name);
    return found != checkpoint_.arrays.end() && !found->second.empty();
  }
  const std::vector<float>& array(const std::string& name, size_t size) const {
    const auto found = checkpoint_.arrays.find(name);
    if (found == checkpoint_.arrays.end() || found->second.size() != size)
      throw UserError("{} does not fit this network: '{}' is missing or of another size",
                      path_.string(), name);
    return found->second;
  }
  void restore(const std::string& name, const HostMirror& to) const {
    copy_from_host(array(name, to.size()), to);
  }
  bool counts(const std::string& name) const { return checkpoint_.counters.contains(name); }
  int64_t counter(const std::string& name) const {
    const auto found = checkpoint_.counters.find(name);
    if (found == checkpoint_.counters.end() || found->second < 0 || found->second > most_counted)
      throw UserError("{} does not fit this run: '{}' is missing or not a possible count",
                      path_.string(), name);
    return found->second;
  }

 private:
  static constexpr int64_t most_counted = int64_t{1} << 53;  // no run makes as many steps

  fs::path path_;
  Checkpoint checkpoint_;
};

}  // namespace

std::vector<Optimizer*> ReplicaCheckpoint::all_optimizers() {
  std::vector<Optimizer*> all = replica_.strategy->optimizers();
  all.insert(all.begin(), &replica_.optimizer);
  return all;
}

// Whether one file holds all that is needed, in the form of a run on one rank.
bool ReplicaCheckpoint::needs_one_file() const {
  return replica_.traits.global_results && !replica_.network.has_statistics() &&
         replica_.strategy->arrays().empty() && replica_.strategy->mirrors().empty();
}

void ReplicaCheckpoint::write(const CheckpointPlace& place, const Position& at,
                              const Snapshot& best) {
  const std::vector<std::span<float>> own = replica_.strategy->arrays();
  const bool one_file = needs_one_file();
  int64_t step = at.global_step;
  if (ranks_.rank() == 0) withdraw_checkpoint(place.folder, step);
  // Servers make no steps: the folder is named after rank 0's.
  if (!one_file) ranks_.broadcast(std::as_writable_bytes(std::span(&step, 1)), 0).wait();
  uint64_t digest = 0;
  if (!one_file || replica_.position.data == 0) {
    Checkpoint c{.at = at, .arrays = {}, .counters = {}};
    const auto add = [&](const std::string& name, std::span<const float> mine, ArenaKind kind) {
      const bool collects = one_file && replica_.mesh.pipeline > 1;
      c.arrays[name] = collects ? collect_arena(replica_, mine, kind)
                                : std::vector<float>(mine.begin(), mine.end());
    };
    add("weights", replica_.parameters.weights_on_host().download(), ArenaKind::weights);
    add("state", replica_.parameters.state_on_host().download(), ArenaKind::state);
    if (!best.empty()) {  // the same on all stages
      add("best/weights", best.weights, ArenaKind::weights);
      add("best/state", best.state, ArenaKind::state);
    }
    c.counters["best_epoch"] = best.epoch;
    c.counters[layout_key] = ranks_.ranks_per_node();
    const std::vector<Optimizer*> optimizers = all_optimizers();
    for (size_t i = 0; i < optimizers.size(); ++i) {
      c.counters[fmt::format("optimizer{}/steps", i)] = optimizers[i]->steps();
      for (size_t k = 0; k < optimizers[i]->arrays().size(); ++k)
        add(fmt::format("optimizer{}/{}", i, k), optimizers[i]->arrays()[k].download(),
            ArenaKind::weights);
    }
    for (const auto& [key, counter] : replica_.strategy->counters()) c.counters[key] = *counter;
    for (size_t i = 0; i < own.size(); ++i)
      c.arrays[fmt::format("strategy/{}", i)] = {own[i].begin(), own[i].end()};
    const std::vector<HostMirror> mirrors = replica_.strategy->mirrors();
    for (size_t i = 0; i < mirrors.size(); ++i)
      c.arrays[fmt::format("strategy/device/{}", i)] = copy_to_host(mirrors[i]);
    if (!one_file || ranks_.rank() == 0)
      digest = save_checkpoint(checkpoint_file(place.folder, step, ranks_.rank()), c);
  }
  // After the gather all files are on the disk.
  const std::vector<uint64_t> digests = one_file ? std::vector{digest} : gather_all(ranks_, digest);
  if (ranks_.rank() == 0)
    announce_checkpoint(place.folder,
                        {.global_step = step,
                         .ranks = ranks_.size(),
                         .files = one_file ? 1 : ranks_.size(),
                         .stages = replica_.mesh.pipeline,
                         .config = lasting_toml(config_),
                         .metrics_bytes = place.flush_metrics ? place.flush_metrics() : -1},
                        digests, place.run, config_.train.keep_checkpoints);
}

// One file fits any mesh in which a step has the same samples; files per rank fit theirs.
void ReplicaCheckpoint::expect_possible_mesh(const CheckpointInfo& info,
                                             const fs::path& folder) const {
  const int replicas = info.ranks / info.stages;
  if (info.ranks == ranks_.size() && info.stages == replica_.mesh.pipeline) return;
  const Mesh before{.data = replicas, .pipeline = info.stages};
  if (info.files > 1)
    throw UserError(
        "the checkpoint in {} has a file for each of its {} ranks ({}), this run has {} ({}); "
        "resume it with --ranks {}{}",
        folder.string(), info.ranks, to_text(before), ranks_.size(), to_text(replica_.mesh),
        info.ranks, info.stages > 1 ? fmt::format(" --mesh pipeline={}", info.stages) : "");
  if (replicas == replica_.mesh.data) return;
  const ParallelConfig& p = config_.parallel;
  if (p.batch != BatchOf::all || p.parts != Parts::shuffled || config_.schedule.scale_with_ranks)
    throw UserError(
        "the checkpoint in {} is of {} ranks ({}), this run has {} ({}); steps would have other "
        "samples or another learning rate. Use --ranks {}, or begin runs with parallel.batch = "
        "\"global\" and parallel.parts = \"shuffled\", whose steps do not depend on the ranks",
        folder.string(), info.ranks, to_text(before), ranks_.size(), to_text(replica_.mesh),
        replicas * replica_.mesh.pipeline);
}

// A position of a run with another length or other data would go on with the wrong samples.
void ReplicaCheckpoint::expect_possible(const Position& at, int64_t updates_per_epoch,
                                        const fs::path& file) const {
  const bool in_epoch = at.epoch >= 1 && at.step >= 0 && at.step <= updates_per_epoch;
  const bool counted =
      in_epoch && (replica_.traits.global_results && replica_.trains()
                       ? at.global_step == (at.epoch - 1) * updates_per_epoch + at.step
                       : at.global_step >= 0 && at.global_step <= at.epoch * updates_per_epoch);
  if (!counted || at.epoch_samples < 0 || at.epoch_correct < 0 || at.best_epoch < 0 ||
      at.best_epoch > at.epoch)
    throw UserError(
        "{} does not fit this run: epoch {}, step {} of {}, {} steps in all are not a possible "
        "position",
        file.string(), at.epoch, at.step, updates_per_epoch, at.global_step);
}

ResumedFrom ReplicaCheckpoint::read(const fs::path& folder, int64_t updates_per_epoch, Position& at,
                                    Snapshot& best) {
  ResumedFrom from;
  std::string text;
  if (ranks_.rank() == 0) text = info_text(kept_checkpoints(folder, from.damaged).front().info);
  const CheckpointInfo info = info_from(gather_texts(ranks_, text)[0], folder.string());
  expect_resumable(info.config, config_);
  expect_possible_mesh(info, folder);
  const fs::path path =
      checkpoint_file(folder, info.global_step, info.files == 1 ? 0 : ranks_.rank());
  const CheckpointReader file(path);
  expect_possible(file.position(), updates_per_epoch, path);
  at = file.position();
  Parameters& parameters = replica_.parameters;
  const auto take = [&](const std::string& name, ArenaKind kind) {
    const bool whole = info.files == 1 && replica_.mesh.pipeline > 1;
    const size_t floats =
        kind == ArenaKind::weights ? parameters.weights().size() : parameters.state().size();
    if (!whole) return file.array(name, floats);
    return part_of_arena(replica_, file.array(name, whole_arena_floats(replica_, kind)), kind);
  };
  copy_from_host(take("weights", ArenaKind::weights), parameters.weights_on_host());
  copy_from_host(take("state", ArenaKind::state), parameters.state_on_host());
  if (file.has("best/weights"))
    best = {file.counter("best_epoch"), take("best/weights", ArenaKind::weights),
            take("best/state", ArenaKind::state), true};
  if (file.counts(layout_key) && info.ranks == ranks_.size()) {
    const int64_t per_node = file.counter(layout_key);
    if (per_node > ranks_.size() || (per_node > 0 && ranks_.size() % per_node != 0))
      throw UserError("{} does not fit this run: {} ranks per node are not possible with {} ranks",
                      path.string(), per_node, ranks_.size());
    ranks_.assume_ranks_per_node(static_cast<int>(per_node));
  }
  replica_.prepare();
  const std::vector<Optimizer*> optimizers = all_optimizers();
  for (size_t i = 0; i < optimizers.size(); ++i) {
    optimizers[i]->set_steps(file.counter(fmt::format("optimizer{}/steps", i)));
    for (size_t k = 0; k < optimizers[i]->arrays().size(); ++k)
      copy_from_host(take(fmt::format("optimizer{}/{}", i, k), ArenaKind::weights),
                     optimizers[i]->arrays()[k]);
  }
  const std::vector<std::span<float>> own = replica_.strategy->arrays();
  for (size_t i = 0; i < own.size(); ++i)
    std::ranges::copy(file.array(fmt::format("strategy/{}", i), own[i].size()), own[i].begin());
  const std::vector<HostMirror> mirrors = replica_.strategy->mirrors();
  for (size_t i = 0; i < mirrors.size(); ++i)
    file.restore(fmt::format("strategy/device/{}", i), mirrors[i]);
  for (const auto& [key, target] : replica_.strategy->counters()) *target = file.counter(key);
  from.global_step = info.global_step;
  from.metrics_bytes = info.metrics_bytes;
  from.has_digests = fs::exists(digests_path(path.parent_path()));
  return from;
}

}  // namespace lockstep
