#include "train/crossval/cross_validation.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "data/datasets/subset.h"
#include "data/folds.h"
#include "data/permutation.h"
#include "os/digests.h"
#include "train/crossval/task_queue.h"
#include "train/diagnosis.h"
#include "train/evaluator.h"
#include "train/record/run_claim.h"
#include "train/record/run_folder.h"
#include "train/record/versions.h"
#include "train/shares.h"
#include "train/trainer.h"

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

// All trainings of a cross-validation; the same on every rank.
struct Plan {
  std::vector<FoldTask> tasks;
  std::vector<Fold> samples;  // per task; empty test part: retraining
};

// Folds of all nodes in turn, so that nodes finish at about the same time; retraining comes last.
Plan make_plan(const CrossvalConfig& c, const Dataset& data, uint64_t seed) {
  const auto parts = make_parts(data, c.nodes, seed);
  std::vector<std::vector<Fold>> folds;
  for (size_t n = 0; n < parts.size(); ++n)
    folds.push_back(make_folds(data, parts[n], c.folds, seed,
                               c.nodes > 1 ? fmt::format(" on node {} of {}", n, c.nodes) : ""));
  Plan plan;
  for (int64_t fold = 0; fold < c.folds; ++fold)
    for (int64_t node = 0; node < c.nodes; ++node) {
      plan.tasks.push_back({.node = node, .fold = fold});
      plan.samples.push_back(folds[static_cast<size_t>(node)][static_cast<size_t>(fold)]);
    }
  for (int64_t node = 0; c.model == FoldModel::retrain && node < c.nodes; ++node) {
    plan.tasks.push_back({.node = node, .retrain = true});
    plan.samples.push_back({.train = parts[static_cast<size_t>(node)], .test = {}});
  }
  return plan;
}

// A pointer that does not own the data set.
std::shared_ptr<const Dataset> borrowed(const Dataset& data) {
  return {std::shared_ptr<void>(), &data};
}

DataSplits splits_of(const DataSplits& data, const Fold& fold) {
  const std::shared_ptr<const Dataset> whole = borrowed(*data.train);
  DataSplits splits;
  splits.train = std::make_unique<Subset>(whole, fold.train);
  if (!fold.test.empty()) splits.test = std::make_unique<Subset>(whole, fold.test);
  if (data.validation)
    splits.validation = std::make_unique<Subset>(borrowed(*data.validation),
                                                 natural_order(data.validation->size()));
  splits.provenance = fmt::format("{}, {} to train, {} to test", data.provenance, fold.train.size(),
                                  fold.test.size());
  splits.normalizer = data.normalizer;
  return splits;
}

fs::path folder_of(const fs::path& folder, const FoldTask& task) {
  return folder / "folds" / task.name();
}

// The result of the task if its folder holds a finished run with this configuration.
std::optional<FoldResult> finished(const fs::path& folder, const FoldTask& task,
                                   const RunConfig& config) {
  const fs::path run = folder_of(folder, task);
  if (!fs::exists(run / "summary.json") || !fs::exists(run / "config.toml")) return std::nullopt;
  const Json json = Json::parse(read_text(run / "summary.json"), nullptr, false);
  if (!json.is_object() || from_text<Ending>(json.value("ending", "")) == Ending::interrupted)
    return std::nullopt;
  const RunConfig before = parse_config(read_text(run / "config.toml"), run.string());
  if (lasting_toml(before) != lasting_toml(config) || before.train.epochs != config.train.epochs)
    return std::nullopt;
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : 0.0;
  };
  return FoldResult{task, number("test_loss"), number("test_accuracy"), number("train_accuracy"),
                    number("total_seconds")};
}

// A barrier with its own time limit: other ranks may still be training folds.
void meet(Communicator& ranks, double limit) {
  const WallClock clock;
  const double start = clock.seconds();
  Request all = ranks.barrier();
  while (!all.test()) {
    if (clock.seconds() - start > limit)
      throw CommunicationFailure(
          "waited {:.0f} s for the folds of other ranks, far longer than folds took so far; has "
          "one stopped?",
          limit);
    if (!all.block()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Summary train_fold(const RunConfig& config, Communicator& group, const DataSplits& splits,
                   const Clock& clock, const MakeDevice& make, const fs::path& folder,
                   const std::atomic<bool>& stop) {
  const std::unique_ptr<Device> device = make();
  Observers observers;
  Trainer trainer(config, group, *device, clock, splits, observers);
  std::unique_ptr<RunFolder> run;
  if (group.rank() == 0) {
    if (holds_run(folder)) remove_run_files(folder);  // of an earlier, unfinished start
    run = std::make_unique<RunFolder>(folder, config);
    observers.add(*run);
  }
  const double start = clock.seconds();
  Summary summary = trainer.run(stop);
  summary.total_seconds = clock.seconds() - start;
  if (run && summary.ending != Ending::interrupted)
    run->save(trainer.parameters(), trainer.network(), splits);
  observers.run_ended(summary);
  return summary;
}

// Makes the final model from the models of the folds; on rank 0 only.
class Models {
 public:
  Models(const RunConfig& config, const DataSplits& data, const Clock& clock,
         const fs::path& folder)
      : config_(config), data_(data), clock_(clock), folder_(folder) {}

  void finish(CrossvalSummary& summary) {
    std::vector<SavedRun> nodes;
    for (int64_t node = 0; node < summary.nodes; ++node) {
      nodes.push_back(of_node(node, summary.results));
      if (data_.test) summary.node_tests.push_back(tested(nodes.back()));
    }
    SavedRun model = std::move(nodes.front());
    size_t chosen = 0;
    if (summary.nodes > 1 && config_.crossval.combine == NodeModel::average) {
      std::vector<const SavedRun*> others;
      for (size_t n = 1; n < nodes.size(); ++n) others.push_back(&nodes[n]);
      average(model, others);
      if (data_.test) summary.test = tested(model);
    } else {
      for (size_t n = 1; n < summary.node_tests.size(); ++n)
        if (summary.node_tests[n].accuracy > summary.node_tests[chosen].accuracy) chosen = n;
      if (chosen > 0) model = std::move(nodes[chosen]);
      if (data_.test) summary.test = summary.node_tests[chosen];
    }
    summary.parameters = static_cast<int64_t>(model.network->parameter_count());
    make_folder(folder_ / "model");
    FileGroup files;
    stage_model(files, folder_ / "model",
                {{"model.safetensors",
                  saved_model(*model.parameters, *model.network, model.classes, model.normalizer)}},
                run_of_config(read_text(folder_ / "config.toml")));
    files.commit();
  }

 private:
  SavedRun load(const FoldTask& task) const { return load_run(folder_of(folder_, task)); }

  SavedRun of_node(int64_t node, const std::vector<FoldResult>& results) const {
    std::vector<FoldResult> mine;
    for (const FoldResult& r : results)
      if (r.task.node == node) mine.push_back(r);
    if (config_.crossval.model == FoldModel::retrain) return load({.node = node, .retrain = true});
    const auto better = [](const FoldResult& a, const FoldResult& b) {
      return std::pair(-a.accuracy, a.loss) < std::pair(-b.accuracy, b.loss);
    };
    if (config_.crossval.model == FoldModel::best)
      return load(std::min_element(mine.begin(), mine.end(), better)->task);
    SavedRun model = load(mine.front().task);
    std::vector<SavedRun> others;
    for (size_t i = 1; i < mine.size(); ++i) others.push_back(load(mine[i].task));
    std::vector<const SavedRun*> all;
    for (const SavedRun& other : others) all.push_back(&other);
    average(model, all);
    return model;
  }

  static void average(SavedRun& model, const std::vector<const SavedRun*>& others) {
    const auto mean = [&](const HostMirror& mine, auto part) {
      const std::span<float> into = mine.download();
      std::vector<double> sums(into.begin(), into.end());
      for (const SavedRun* other : others) {
        const std::span<const float> values = part(*other->parameters).download();
        for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
      }
      for (size_t i = 0; i < sums.size(); ++i)
        into[i] = static_cast<float>(sums[i] / static_cast<double>(others.size() + 1));
      mine.upload();
    };
    mean(model.parameters->weights_on_host(),
         [](const Parameters& p) -> const HostMirror& { return p.weights_on_host(); });
    mean(model.parameters->state_on_host(),
         [](const Parameters& p) -> const HostMirror& { return p.state_on_host(); });
  }

  Evaluation tested(const SavedRun& run) const {
    const std::unique_ptr<Device> device = make_device(config_.device);
    Parameters parameters(*run.network, *device);
    parameters.copy_from(*run.parameters);
    Program program(*run.network, config_.train.loss, *device, 256, data_.test->sparse());
    return evaluate(*data_.test, all_of(*data_.test), program, parameters, clock_);
  }

  const RunConfig& config_;
  const DataSplits& data_;
  const Clock& clock_;
  fs::path folder_;
};

// Adds the batch and learning rate with which the calling rank's group trains folds.
void describe_fold(const RunConfig& config, const Communicator& group, int64_t samples,
                   CrossvalSummary& summary) {
  const int64_t training = training_ranks(config.parallel, group.size());
  summary.fold_ranks = group.size();
  summary.global_batch = rows_per_step(config, samples, training);
  summary.batch_per_rank = (summary.global_batch + training - 1) / training;
  summary.learning_rate = config.optimizer.lr *
                          (config.schedule.scale_with_ranks ? static_cast<double>(training) : 1.0);
}

Json evaluation_json(const Evaluation& e) {
  return {{"loss", e.loss}, {"accuracy", e.accuracy}, {"samples", e.samples}};
}

}  // namespace

std::string FoldTask::name() const {
  return retrain ? fmt::format("node-{}-all", node) : fmt::format("node-{}-fold-{}", node, fold);
}

MeanAndDeviation mean_and_deviation(const std::vector<double>& values) {
  MeanAndDeviation result;
  const double count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

int64_t fastest_groups(int64_t tasks, int64_t ranks, bool global_batch) {
  if (!global_batch) return std::min(tasks, ranks);
  int64_t best = 1;
  double fastest = 1e300;
  for (int64_t groups = 1; groups <= std::min(tasks, ranks); ++groups) {
    const int64_t each = ranks / groups, rounds = (tasks + groups - 1) / groups;
    const double n = static_cast<double>(each), speed = n * std::pow(0.9, std::log2(n));
    const double estimate = static_cast<double>(rounds) / speed;
    if (estimate < fastest - 1e-9) fastest = estimate, best = groups;
  }
  return best;
}

CrossvalSummary cross_validate(const RunConfig& config, Communicator& ranks, const DataSplits& data,
                               const Clock& clock, const fs::path& folder,
                               const FoldDone& fold_done, bool resume,
                               const std::atomic<bool>& stop, MakeDevice make) {
  if (!make) make = [&] { return make_device(config.device); };
  const CrossvalConfig& c = config.crossval;
  const Plan plan = make_plan(c, *data.train, static_cast<uint64_t>(config.seed));
  const auto count = static_cast<int64_t>(plan.tasks.size());
  const int64_t groups =
      c.groups > 0 ? std::min<int64_t>(c.groups, ranks.size())
                   : fastest_groups(count, ranks.size(), config.parallel.batch == BatchOf::all);
  const bool first = ranks.rank() == 0;
  const fs::path queue_file = folder / "queue";
  std::vector<uint8_t> done_before(plan.tasks.size(), 0);
  if (first) {
    std::string run = new_run_identifier();
    if (resume && fs::exists(folder / "config.toml")) {
      const std::string before = run_of_config(read_text(folder / "config.toml"));
      if (!before.empty()) run = before;
      for (size_t i = 0; i < plan.tasks.size(); ++i)
        done_before[i] = finished(folder, plan.tasks[i], config).has_value();
    }
    make_folder(folder / "folds");
    fs::remove(folder / "summary.json");
    write_file(folder / "config.toml", config_head(run) + to_toml(config));
    TaskQueue::reset(queue_file);
  }
  ranks.broadcast(std::as_writable_bytes(std::span(done_before)), 0).wait();
  const double start = clock.seconds();
  const std::unique_ptr<Communicator> group =
      ranks.split(static_cast<int>(ranks.rank() * groups / ranks.size()), ranks.rank());

  TaskQueue queue(queue_file, count, config.parallel.timeout);
  double longest = 1;
  bool interrupted = false;
  while (!interrupted) {
    int64_t task = -1;
    if (group->rank() == 0 && !stop.load()) task = queue.next().value_or(-1);
    group->broadcast(std::as_writable_bytes(std::span(&task, 1)), 0).wait();
    if (task < 0) break;
    const FoldTask& mine = plan.tasks[static_cast<size_t>(task)];
    if (done_before[static_cast<size_t>(task)]) continue;
    const DataSplits splits = splits_of(data, plan.samples[static_cast<size_t>(task)]);
    const Summary s = [&] {
      try {
        return train_fold(config, *group, splits, clock, make, folder_of(folder, mine), stop);
      } catch (const Diverged& error) {
        throw Failure("{}: {}", mine.name(), error.what());
      }
    }();
    interrupted = s.ending == Ending::interrupted;
    longest = std::max(longest, s.total_seconds);
    if (group->rank() == 0 && !interrupted && fold_done) {
      const Evaluation test = s.test.value_or(Evaluation{});
      // Folds are handed out in order, so all before this one have started.
      const auto at = done_before.begin() + task;
      const auto before = std::count(done_before.begin(), at, 1),
                 after = std::count(at, done_before.end(), 1);
      fold_done({mine, test.loss, test.accuracy, s.train_accuracy, s.total_seconds},
                {.done = task + 1 + after, .all = count, .trained = task + 1 - before});
    }
  }
  meet(ranks, config.parallel.timeout + 20 * longest);

  CrossvalSummary summary{.name = config.name,
                          .data = data.provenance,
                          .device = {},
                          .seed = config.seed,
                          .folds = c.folds,
                          .nodes = c.nodes,
                          .ranks = ranks.size(),
                          .groups = groups,
                          .model = to_text(c.model),
                          .combine = to_text(c.combine)};
  summary.device = make()->description();
  describe_fold(config, *group, static_cast<int64_t>(plan.samples[0].train.size()), summary);
  summary.oversubscribed =
      summarise(gather_times(ranks, {}, config.device.threads), ranks.size(), 1, 0, 0)
          .oversubscribed;
  if (!first) return summary;
  std::vector<double> accuracies, losses, train_accuracies;
  for (const FoldTask& task : plan.tasks) {
    const std::optional<FoldResult> result = finished(folder, task, config);
    summary.finished = summary.finished && result;
    if (!result || task.retrain) continue;
    summary.results.push_back(*result);
    accuracies.push_back(result->accuracy);
    losses.push_back(result->loss);
    train_accuracies.push_back(result->train_accuracy);
  }
  std::stable_sort(
      summary.results.begin(), summary.results.end(),
      [](const FoldResult& a, const FoldResult& b) { return a.task.node < b.task.node; });
  summary.accuracy = mean_and_deviation(accuracies);
  summary.loss = mean_and_deviation(losses);
  summary.train_accuracy = mean_and_deviation(train_accuracies);
  if (summary.finished) Models(config, data, clock, folder).finish(summary);
  summary.total_seconds = clock.seconds() - start;
  fs::remove(queue_file);
  return summary;
}

std::string summary_json(const CrossvalSummary& s) {
  Json json{{"name", s.name},
            {"kind", "cross-validation"},
            {"ending", to_text(s.finished ? Ending::finished : Ending::interrupted)},
            {"data", s.data},
            {"device", s.device},
            {"versions", versions_text()},
            {"seed", s.seed},
            {"parameters", s.parameters},
            {"folds", s.folds},
            {"nodes", s.nodes},
            {"ranks", s.ranks},
            {"groups", s.groups},
            {"ranks_per_fold", s.fold_ranks},
            {"batch_per_rank", s.batch_per_rank},
            {"global_batch", s.global_batch},
            {"learning_rate", s.learning_rate},
            {"oversubscribed", s.oversubscribed},
            {"model", s.model},
            {"combine", s.combine},
            {"fold_accuracy", s.accuracy.mean},
            {"fold_accuracy_deviation", s.accuracy.deviation},
            {"train_accuracy", s.train_accuracy.mean},
            {"train_accuracy_deviation", s.train_accuracy.deviation},
            {"fold_loss", s.loss.mean},
            {"fold_loss_deviation", s.loss.deviation},
            {"test_loss", s.test ? Json(s.test->loss) : Json()},
            {"test_accuracy", s.test ? Json(s.test->accuracy) : Json()},
            {"read_seconds", s.read_seconds},
            {"total_seconds", s.total_seconds}};
  double work = 0;
  for (const FoldResult& r : s.results) {
    work += r.seconds;
    json["by_fold"].push_back({{"node", r.task.node},
                               {"fold", r.task.fold},
                               {"loss", r.loss},
                               {"accuracy", r.accuracy},
                               {"train_accuracy", r.train_accuracy},
                               {"seconds", r.seconds}});
  }
  json["fold_seconds"] = work;  // sum over all folds
  for (const Evaluation& e : s.node_tests) json["by_node"].push_back(evaluation_json(e));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep
