#include "train/trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include "base/statistics.h"
#include "nn/files/hugging_face.h"
#include "os/digests.h"
#include "os/memory.h"
#include "train/diagnosis.h"
#include "train/evaluator.h"
#include "train/resumable.h"

namespace lockstep {
namespace {

// Copies of larger networks are not kept: their weights alone may be half of the memory.
constexpr size_t most_kept_floats = 1 << 25;

void copy(std::span<const float> from, const HostMirror& to) {
  std::ranges::copy(from, to.floats().begin());
  to.upload();
}

bool all_finite(const HostMirror& memory) {
  constexpr uint32_t exponent = 0x7f800000;
  bool finite = true;
  for (const float value : memory.download())
    finite &= (std::bit_cast<uint32_t>(value) & exponent) != exponent;
  return finite;
}

SampleForm form_of(const DataSplits& data, const std::string& name) {
  return {data.train->sample_shape(), data.train->outputs(), data.train->sparse(), name};
}

std::vector<float> copy_of(const HostMirror& memory) {
  const std::span<const float> values = memory.download();
  return {values.begin(), values.end()};
}

}  // namespace

Trainer::Trainer(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
                 const DataSplits& data, Observer& observer)
    : config_(config),
      ranks_(ranks),
      device_(device),
      clock_(clock),
      data_(data),
      observer_(observer),
      feed_(config, *data.train, ranks.rank(), training_ranks(config.parallel, ranks.size())),
      replica_(config, ranks, device, clock, form_of(data, config.data.name), feed_.micro_batch()),
      epochs_(config.train.epochs) {
  const int64_t an_epoch = updates_per_epoch();
  if (config.train.steps > 0) epochs_ = (config.train.steps + an_epoch - 1) / an_epoch;
  if (config.schedule.warmup_steps > 0)
    config_.schedule.warmup_epochs =
        static_cast<double>(config.schedule.warmup_steps) / static_cast<double>(an_epoch);
  if (config.parallel.mode == Mode::reproducible && replica_.parameters.has_statistics())
    throw UserError(
        "parallel.mode = \"reproducible\" is not possible with batch normalisation, whose "
        "statistics depend on which samples meet on a rank; use layernorm, or mode \"fast\"");
  if (data.train->multi_label() && config.train.loss == LossKind::softmax_cross_entropy)
    throw UserError(
        "samples of {} have several targets each; use train.loss = \"sigmoid-cross-entropy\"",
        config.data.name);
  replica_.parameters.initialise(config.model.init, static_cast<uint64_t>(config.seed),
                                 config.model.from.empty());
  if (config.model.from.empty()) return;
  load_gpt2(config.model.from, replica_.parameters);
  if (!all_finite(replica_.parameters.weights_on_host()))
    throw UserError("{} holds weights that are not numbers (NaN or infinite)", config.model.from);
}

int64_t Trainer::updates_per_epoch() const {
  return replica_.traits.one_update_per_epoch ? 1 : feed_.whole_epoch();
}

double Trainer::learning_rate(int64_t step) const {
  const int64_t steps = updates_per_epoch();
  // The first step of a warm-up already moves: the rate is that of the step's end.
  const double done = static_cast<double>(at_.epoch - 1) +
                      static_cast<double>(config_.schedule.warmup_epochs > 0 ? step : step - 1) /
                          static_cast<double>(steps);
  const double epochs = config_.train.steps > 0
                            ? static_cast<double>(config_.train.steps) / static_cast<double>(steps)
                            : static_cast<double>(epochs_);
  return lockstep::learning_rate(config_.schedule, config_.optimizer.lr, done, epochs,
                                 replica_.training_ranks);
}

Trainer::Snapshot Trainer::snapshot(int64_t epoch) const {
  return {epoch, copy_of(replica_.parameters.weights_on_host()),
          copy_of(replica_.parameters.state_on_host())};
}

void Trainer::restore(const Snapshot& snapshot) {
  copy(snapshot.weights, replica_.parameters.weights_on_host());
  copy(snapshot.state, replica_.parameters.state_on_host());
}

void Trainer::diverged(int64_t epoch, int64_t step, const std::string& what) {
  const bool restores = !last_good_.weights.empty();
  if (restores) restore(last_good_);
  // What rank 0 holds is what is saved.
  std::string kept;
  if (ranks_.rank() == 0 || replica_.traits.global_results)
    kept = restores
               ? fmt::format("The weights from the end of epoch {} are kept.", last_good_.epoch)
               : "The weights before that step are kept.";
  throw Diverged(
      "training diverged at step {} (epoch {}): {}. {} Try a smaller optimizer.lr (it was {}), or "
      "train.clip_norm=1",
      step, epoch, what, kept, config_.optimizer.lr);
}

void Trainer::expect_finite_weights() {
  if (!all_finite(replica_.parameters.weights_on_host()) ||
      !all_finite(replica_.parameters.state_on_host()))
    diverged(at_.epoch, at_.global_step, "weights are not numbers any more");
}

double Trainer::epochs_done() const {
  const double steps = static_cast<double>(updates_per_epoch());
  const double done = static_cast<double>(at_.epoch - 1) + static_cast<double>(at_.step) / steps;
  if (config_.train.steps == 0) return done;
  return std::min(done, static_cast<double>(config_.train.steps) / steps);
}

double Trainer::accuracy(int64_t correct, double samples) const {
  return static_cast<double>(correct) / (samples * static_cast<double>(replica_.program.answers()));
}

StepResult Trainer::make_step(bool asked_to_stop) {
  const StepPlan plan{.step = at_.step,
                      .learning_rate = learning_rate(at_.step + 1),
                      .asked_to_stop = asked_to_stop};
  try {
    const StepResult result = replica_.strategy->step(replica_.worker, feed_, plan);
    // The weights of the epoch's start have just given a finite loss.
    if (at_.step == 0 && !candidate_.weights.empty()) last_good_ = std::move(candidate_);
    return result;
  } catch (const NotFinite& error) {
    diverged(at_.epoch, at_.global_step + 1, error.what());
  }
}

void Trainer::make_steps() {
  const int64_t steps = replica_.traits.one_update_per_epoch ? 1 : feed_.steps();
  bool stop = false;
  if (!replica_.trains()) replica_.strategy->serve(replica_.worker);
  while (replica_.trains() && !stop && at_.step < steps) {
    const bool asked = stop_->load(std::memory_order_relaxed);
    // With other ranks the wish travels with a step, and all stop after it.
    if (asked && ranks_.size() == 1) {
      stop = true;
      break;
    }
    const StepResult result = make_step(asked);
    if (result.skipped) break;
    step_done(result);
    stop = result.stop;
  }
  StepTimes ending;
  stopped_ = replica_.strategy->end_epoch(replica_.worker, stop, ending);
  times_ += ending;
}

void Trainer::step_done(const StepResult& r) {
  at_.step = r.step;
  ++at_.global_step;
  at_.epoch_loss += r.loss;
  at_.epoch_correct += r.correct;
  at_.epoch_samples += r.rows;
  gradient_seconds_.push_back(r.gradient_seconds);
  times_ += r.times;
  last_ = r;
  const double rows = static_cast<double>(std::max<int64_t>(1, r.rows));
  const double samples = static_cast<double>(std::max<int64_t>(1, at_.epoch_samples));
  if (at_.global_step == 1) at_.first_loss = r.loss / rows;
  observer_.step_done({.epoch = at_.epoch,
                       .step = r.step,
                       .global_step = at_.global_step,
                       .loss = r.loss / rows,
                       .epoch_loss = at_.epoch_loss / samples,
                       .epoch_accuracy = accuracy(at_.epoch_correct, samples),
                       .gradient_norm = r.gradient_norm,
                       .learning_rate = r.learning_rate,
                       .times = r.times});
  const int64_t eval = config_.train.eval_every;
  if (eval > 0 && at_.global_step % eval == 0 && replica_.traits.global_results)
    if (const auto evaluation = evaluate_together(data_.validation.get()))
      observer_.evaluated({at_.epoch, at_.global_step, *evaluation});
  const int64_t every = config_.train.checkpoint_every;
  if (every > 0 && at_.global_step % every == 0 && replica_.traits.global_results)
    write_checkpoint();
}

// Running statistics differ between ranks even where weights do not.
void Trainer::merge_replicas() {
  const HostMirror& mirror = replica_.parameters.state_on_host();
  if (ranks_.size() == 1 || !replica_.parameters.has_statistics() ||
      !replica_.strategy->replicas_agree())
    return;
  const std::span<float> state = mirror.download();
  if (!replica_.trains()) std::ranges::fill(state, 0.0f);
  ranks_.all_reduce(state, state).wait();
  for (float& value : state) value /= static_cast<float>(replica_.training_ranks);
  mirror.upload();
}

EpochReport Trainer::train_epoch() {
  if (replica_.parameters.weights().size() + replica_.parameters.state().size() <=
      most_kept_floats) {
    candidate_ = snapshot(at_.epoch - 1);
    if (last_good_.weights.empty()) last_good_ = candidate_;
  }
  const double start = clock_.seconds();
  const int64_t samples_before = at_.epoch_samples;
  feed_.start(at_.epoch, at_.step);
  make_steps();
  if (!stopped_) merge_replicas();
  struct Sums {
    double loss;
    int64_t correct, samples, done;
    bool stop;
  };
  Sums sums{at_.epoch_loss, at_.epoch_correct, at_.epoch_samples,
            at_.epoch_samples - samples_before, stopped_};
  if (!replica_.traits.global_results) {
    const std::vector<Sums> all = gather_all(ranks_, sums);
    sums = {};
    for (const Sums& s : all) {
      sums.loss += s.loss;
      sums.correct += s.correct;
      sums.samples += s.samples;
      sums.done += s.done;
      sums.stop = sums.stop || s.stop;
    }
    stopped_ = sums.stop;
  }
  const double samples = static_cast<double>(std::max<int64_t>(1, sums.samples));
  EpochReport report{.epoch = at_.epoch,
                     .global_step = at_.global_step,
                     .loss = sums.loss / samples,
                     .accuracy = accuracy(sums.correct, samples),
                     .seconds = clock_.seconds() - start,
                     .gradient_norm = last_.gradient_norm,
                     .learning_rate = last_.learning_rate};
  report.samples_per_second = static_cast<double>(sums.done) / std::max(report.seconds, 1e-9);
  trained_seconds_ += report.seconds;
  trained_samples_ += static_cast<double>(sums.done);
  if (!stopped_) report.validation = evaluate_together(data_.validation.get());
  return report;
}

// Each rank takes a part where all hold the same weights; else rank 0's model is what counts.
std::optional<Evaluation> Trainer::evaluate_together(const Dataset* data) {
  // Rank 0 alone may hold the samples.
  bool someone = false, everyone = true;
  for (const int has : gather_all(ranks_, data ? 1 : 0)) {
    someone = someone || has == 1;
    everyone = everyone && has == 1;
  }
  if (!someone) return std::nullopt;
  const double start = clock_.seconds();
  const bool shared = replica_.strategy->replicas_agree() && everyone;
  Part mine;
  if (shared) mine = part_of(data->size(), ranks_.size(), ranks_.rank());
  if (!shared && ranks_.rank() == 0) mine = all_of(*data);
  const double began = clock_.seconds();
  Evaluation result;
  if (mine.size() > 0)
    result = evaluate(*data, mine, replica_.program, replica_.parameters, clock_);
  replica_.worker.note("evaluate", began);
  struct Sums {
    double loss;
    int64_t correct, samples, steps;
  };
  Sums sums{};
  for (const Sums& s :
       gather_all(ranks_, Sums{result.loss_sum, result.correct, result.samples, result.steps})) {
    sums.loss += s.loss;
    sums.correct += s.correct;
    sums.samples += s.samples;
    sums.steps += s.steps;
  }
  const double samples = static_cast<double>(sums.samples);
  result = {.loss = sums.loss / samples,
            .accuracy = accuracy(sums.correct, samples),
            .seconds = clock_.seconds() - start,
            .samples = sums.samples,
            .steps = sums.steps,
            .loss_sum = sums.loss,
            .correct = sums.correct,
            .answers = replica_.program.answers()};
  return result;
}

void Trainer::keep_if_best(const EpochReport& report) {
  if (!report.validation) return;
  const double loss = report.validation->loss;
  if (at_.best_epoch > 0 && !(loss < at_.best_loss || std::isnan(at_.best_loss))) return;
  at_.best_loss = loss;
  at_.best_epoch = report.epoch;
  if (config_.train.keep == Keep::best) best_ = snapshot(report.epoch);
}

bool Trainer::has_stopped_improving() const {
  const int64_t patience = config_.train.early_stopping;
  return patience > 0 && at_.epoch - 1 - at_.best_epoch >= patience;
}

std::vector<Optimizer*> Trainer::all_optimizers() {
  std::vector<Optimizer*> all = replica_.strategy->optimizers();
  all.insert(all.begin(), &replica_.optimizer);
  return all;
}

void Trainer::write_checkpoint() {
  if (checkpoints_.folder.empty()) return;
  expect_finite_weights();
  const double start = clock_.seconds();
  // Where all ranks are the same, one file is enough.
  const bool one = replica_.traits.global_results && !replica_.parameters.has_statistics();
  int64_t name = at_.global_step;  // servers make no steps
  if (ranks_.rank() == 0) withdraw_checkpoint(checkpoints_.folder, name);
  if (!one) ranks_.broadcast(std::as_writable_bytes(std::span(&name, 1)), 0).wait();
  uint64_t digest = 0;
  if (!one || ranks_.rank() == 0) {
    Checkpoint c{.at = at_, .arrays = {}, .counters = {}};
    c.arrays = {{"weights", copy_of(replica_.parameters.weights_on_host())},
                {"state", copy_of(replica_.parameters.state_on_host())},
                {"best/weights", best_.weights},
                {"best/state", best_.state}};
    c.counters["best_epoch"] = best_.epoch;
    const std::vector<Optimizer*> optimizers = all_optimizers();
    for (size_t i = 0; i < optimizers.size(); ++i) {
      c.counters[fmt::format("optimizer{}/steps", i)] = optimizers[i]->steps();
      for (size_t k = 0; k < optimizers[i]->arrays().size(); ++k)
        c.arrays[fmt::format("optimizer{}/{}", i, k)] = copy_of(optimizers[i]->arrays()[k]);
    }
    for (const auto& [key, counter] : replica_.strategy->counters()) c.counters[key] = *counter;
    digest = save_checkpoint(checkpoint_file(checkpoints_.folder, name, ranks_.rank()), c);
  }
  const std::vector<uint64_t> digests =
      one ? std::vector{digest} : gather_all(ranks_, digest);  // all files are on the disk
  if (ranks_.rank() == 0)
    announce_checkpoint(
        checkpoints_.folder,
        {.global_step = name,
         .ranks = ranks_.size(),
         .files = one ? 1 : ranks_.size(),
         .config = lasting_toml(config_),
         .metrics_bytes = checkpoints_.flush_metrics ? checkpoints_.flush_metrics() : -1},
        digests, checkpoints_.run, config_.train.keep_checkpoints);
  replica_.worker.note("checkpoint", start);
}

// Of this run's length and data; anything else would train on with other samples.
void Trainer::expect_possible(const Position& at, const fs::path& file) const {
  const int64_t epoch_steps = updates_per_epoch();
  const bool in_epoch = at.epoch >= 1 && at.step >= 0 && at.step <= epoch_steps;
  const bool counted =
      in_epoch && (replica_.traits.global_results && replica_.trains()
                       ? at.global_step == (at.epoch - 1) * epoch_steps + at.step
                       : at.global_step >= 0 && at.global_step <= at.epoch * epoch_steps);
  if (!counted || at.epoch_samples < 0 || at.epoch_correct < 0 || at.best_epoch < 0 ||
      at.best_epoch > at.epoch)
    throw UserError(
        "{} does not fit this run: epoch {}, step {} of {}, {} steps in all are not a possible "
        "position",
        file.string(), at.epoch, at.step, epoch_steps, at.global_step);
}

ResumedFrom Trainer::resume(const fs::path& folder) {
  ResumedFrom from;
  std::string text;
  if (ranks_.rank() == 0) text = info_text(kept_checkpoints(folder, from.damaged).front().info);
  const CheckpointInfo info = info_from(gather_texts(ranks_, text)[0], folder.string());
  if (info.ranks != ranks_.size())
    throw UserError("the checkpoint in {} is of {} ranks, this run has {}; use --ranks {}",
                    folder.string(), info.ranks, ranks_.size(), info.ranks);
  expect_resumable(info.config, config_);
  const fs::path path =
      checkpoint_file(folder, info.global_step, info.files == 1 ? 0 : ranks_.rank());
  const Checkpoint c = load_checkpoint(path);
  const auto expect_size = [&](const std::string& name, size_t size) {
    const auto found = c.arrays.find(name);
    if (found == c.arrays.end() || found->second.size() != size)
      throw UserError("{} does not fit this network: '{}' is missing or of another size",
                      path.string(), name);
    return found->second;
  };
  const auto fill = [&](const std::string& name, const HostMirror& to) {
    copy(expect_size(name, to.size()), to);
  };
  const auto counter = [&](const std::string& name) {
    const auto found = c.counters.find(name);
    if (found == c.counters.end() || found->second < 0)
      throw UserError("{} does not fit this run: '{}' is missing or below 0", path.string(), name);
    return found->second;
  };
  expect_possible(c.at, path);
  at_ = c.at;
  fill("weights", replica_.parameters.weights_on_host());
  fill("state", replica_.parameters.state_on_host());
  if (const auto found = c.arrays.find("best/weights");
      found != c.arrays.end() && !found->second.empty())
    best_ = {counter("best_epoch"),
             expect_size("best/weights", replica_.parameters.weights().size()),
             expect_size("best/state", replica_.parameters.state().size())};
  replica_.prepare();
  const std::vector<Optimizer*> optimizers = all_optimizers();
  for (size_t i = 0; i < optimizers.size(); ++i) {
    optimizers[i]->set_steps(counter(fmt::format("optimizer{}/steps", i)));
    for (size_t k = 0; k < optimizers[i]->arrays().size(); ++k)
      fill(fmt::format("optimizer{}/{}", i, k), optimizers[i]->arrays()[k]);
  }
  for (const auto& [key, target] : replica_.strategy->counters()) *target = counter(key);
  from.has_all_epochs = at_.epoch > epochs_ || has_stopped_improving();
  from.global_step = info.global_step;
  from.metrics_bytes = info.metrics_bytes;
  from.has_digests = fs::exists(digests_path(path.parent_path()));
  return from;
}

ParallelFigures Trainer::parallel_figures() {
  const std::vector<RankTimes> all = gather_times(ranks_, times_, config_.device.threads);
  ParallelFigures figures =
      summarise(all, replica_.training_ranks, at_.global_step, bytes_a_step(replica_.parameters),
                feed_.share(0).all, config_.parallel.strategy);
  figures.backend = ranks_.backend();
  // The figures of the first rank that has any.
  std::string own;
  for (const NamedFigure& f : replica_.strategy->figures())
    own += fmt::format("{} {}\n", f.name, f.value);
  for (const std::string& text : gather_texts(ranks_, own)) {
    if (text.empty() || !figures.own.empty()) continue;
    std::istringstream lines(text);
    for (NamedFigure f; lines >> f.name >> f.value;) figures.own.push_back(f);
  }
  return figures;
}

Summary Trainer::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  replica_.prepare();
  const double start = clock_.seconds();
  const int64_t run_steps = config_.train.steps;
  observer_.run_started({.name = config_.name,
                         .data = data_.provenance,
                         .device = device_.description(),
                         .parameters = replica_.network.parameter_count(),
                         .samples = data_.train->size(),
                         .epochs = epochs_,
                         .steps_per_epoch = run_steps > 0 ? std::min(run_steps, updates_per_epoch())
                                                          : updates_per_epoch(),
                         .ranks = ranks_.size(),
                         .strategy = config_.parallel.strategy,
                         .backend = ranks_.backend(),
                         .steps_done = at_.global_step});
  Summary summary{
      .name = config_.name,
      .data = data_.provenance,
      .device = device_.description(),
      .seed = config_.seed,
      .parameters = replica_.network.parameter_count(),
      .global_batch = feed_.share(0).all,
      .learning_rate =
          config_.optimizer.lr * (config_.schedule.scale_with_ranks ? replica_.training_ranks : 1)};
  int64_t last_epoch = at_.epoch;
  if (at_.epoch > epochs_ || has_stopped_improving()) {  // resumed after the last epoch
    summary.train_loss = at_.last_loss;
    summary.train_accuracy = at_.last_accuracy;
    summary.validation = evaluate_together(data_.validation.get());
  }
  while (at_.epoch <= epochs_ && !has_stopped_improving()) {
    const EpochReport report = train_epoch();
    expect_finite_weights();
    last_epoch = at_.epoch;
    if (at_.global_step == 0 && replica_.trains()) {  // before anything was done
      summary.ending = Ending::interrupted;
      break;
    }
    if (stopped_ && replica_.trains() && at_.step == 0) {
      // Between two epochs: the last one was reported already, and this one has no step.
      summary.train_loss = at_.last_loss;
      summary.train_accuracy = at_.last_accuracy;
      summary.ending = Ending::interrupted;
      write_checkpoint();
      break;
    }
    summary.train_loss = report.loss;
    summary.train_accuracy = report.accuracy;
    summary.validation = report.validation;
    epoch_seconds_.push_back(report.seconds);
    observer_.epoch_done(report);
    if (stopped_) {
      summary.ending = Ending::interrupted;
      write_checkpoint();
      break;
    }
    keep_if_best(report);
    ++at_.epoch;
    at_.step = at_.epoch_correct = at_.epoch_samples = 0;
    at_.epoch_loss = 0;
    at_.last_loss = report.loss;
    at_.last_accuracy = report.accuracy;
    // Ranks that go their own ways meet here only.
    if (config_.train.checkpoint_every > 0 && !replica_.traits.global_results) write_checkpoint();
  }
  if (summary.ending == Ending::finished && has_stopped_improving()) summary.ending = Ending::early;
  summary.epochs = epochs_done();
  summary.first_loss = at_.first_loss;
  if (summary.ending != Ending::interrupted) replica_.strategy->finish(replica_.worker);
  expect_finite_weights();
  if (!best_.weights.empty()) {
    restore(best_);
    summary.best_epoch = at_.best_epoch;
    summary.validation = evaluate_together(data_.validation.get());
  }
  if (summary.ending != Ending::interrupted) summary.test = evaluate_together(data_.test.get());
  if (summary.test && !std::isfinite(summary.test->loss))  // the last step blew up
    diverged(last_epoch, at_.global_step,
             fmt::format("loss {}, gradient norm {}", summary.test->loss, last_.gradient_norm));
  summary.gradient_seconds = median(gradient_seconds_);
  summary.epoch_seconds = epoch_seconds_;
  summary.samples_per_second = trained_samples_ / std::max(trained_seconds_, 1e-9);
  summary.total_seconds = clock_.seconds() - start;
  summary.peak_memory_bytes = peak_memory_bytes();
  if (ranks_.size() > 1) summary.parallel = parallel_figures();
  return summary;
}

}  // namespace lockstep
