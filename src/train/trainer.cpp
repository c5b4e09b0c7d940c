#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "os/memory.h"
#include "train/diagnosis.h"
#include "train/evaluator.h"

namespace lockstep {
namespace {

// Larger networks are not copied: their weights alone may take half of the memory.
constexpr size_t most_snapshot_floats = 1 << 25;

SampleForm form_of(const DataSplits& data, const std::string& name) {
  return {data.train->sample_shape(), data.train->outputs(), data.train->sparse(), name};
}

int data_position(const RunConfig& config, const Communicator& ranks) {
  return position_of(mesh_of(config.parallel, ranks.size()), ranks.rank()).data;
}

// The user's own files may have another shape than the data set that they take the place of.
InitialNetwork network_for(const RunConfig& config, const Dataset& samples, Device& device,
                           const Communicator& ranks, std::optional<InitialNetwork> initial) {
  if (initial && initial->network.input() == samples.sample_shape()) return std::move(*initial);
  initial.reset();  // first: its memory is needed again
  InitialNetwork made(config, samples.sample_shape(), device, ranks.size(), ranks.rank());
  made.set_weights(config);
  return made;
}

}  // namespace

Trainer::Trainer(const RunConfig& config, Communicator& ranks, Device& device, const Clock& clock,
                 const DataSplits& data, Observer& observer, std::optional<InitialNetwork> initial)
    : config_(config),
      ranks_(ranks),
      device_(device),
      clock_(clock),
      data_(data),
      observer_(observer),
      feed_(config, *data.train, data_position(config, ranks),
            training_replicas(config.parallel, ranks.size())),
      replica_(config, ranks, device, clock, form_of(data, config.data.name),
               {feed_.micro_batch(), feed_.micro_batches()},
               network_for(config, *data.train, device, ranks, std::move(initial))),
      checkpoint_(config_, ranks, replica_),
      epochs_(config.train.epochs),
      target_(target_of(config.train)) {
  feed_.hold(replica_.pipeline.held_batches());
  if (target_)
    target_result_ = {.target = config.train.until, .on_test = data.validation == nullptr};
  if (target_ && !data.validation && !data.test)
    throw UserError(
        "train.until needs samples to evaluate on; set data.validation or data.test, e.g. 0.1");
  const int64_t per_epoch = updates_per_epoch();
  if (config.train.steps > 0) epochs_ = (config.train.steps + per_epoch - 1) / per_epoch;
  if (config.schedule.warmup_steps > 0)
    config_.schedule.warmup_epochs =
        static_cast<double>(config.schedule.warmup_steps) / static_cast<double>(per_epoch);
  if (config.parallel.mode == Mode::reproducible && replica_.network.has_statistics())
    throw UserError(
        "parallel.mode = \"reproducible\" is not possible with batch normalisation, whose "
        "statistics depend on which samples meet on a rank; use layernorm, or mode \"fast\"");
  if (data.train->multi_label() && config.train.loss == LossKind::softmax_cross_entropy)
    throw UserError(
        "samples of {} have several targets each; use train.loss = \"sigmoid-cross-entropy\"",
        config.data.name);
}

int64_t Trainer::updates_per_epoch() const {
  return replica_.traits.one_update_per_epoch ? 1 : feed_.whole_epoch();
}

double Trainer::learning_rate(int64_t step) const {
  const int64_t steps = updates_per_epoch();
  // A warm-up starts above 0: a step uses the rate that is due at its end.
  const double done = static_cast<double>(at_.epoch - 1) +
                      static_cast<double>(config_.schedule.warmup_epochs > 0 ? step : step - 1) /
                          static_cast<double>(steps);
  const double epochs = config_.train.steps > 0
                            ? static_cast<double>(config_.train.steps) / static_cast<double>(steps)
                            : static_cast<double>(epochs_);
  return lockstep::learning_rate(config_.schedule, config_.optimizer.lr, done, epochs,
                                 replica_.training_ranks);
}

void Trainer::diverged(int64_t epoch, int64_t step, const std::string& what) {
  const bool restores = !last_good_.empty();
  if (restores) restore(last_good_, replica_.parameters);
  // Rank 0 saves the model; other ranks promise nothing unless they hold the same weights.
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
    diverged(at_.epoch, at_.global_step, "the weights are no longer finite");
}

double Trainer::epochs_done() const {
  const double steps = static_cast<double>(updates_per_epoch());
  const double done = static_cast<double>(at_.epoch - 1) + static_cast<double>(at_.step) / steps;
  if (config_.train.steps == 0) return done;
  return std::min(done, static_cast<double>(config_.train.steps) / steps);
}

double Trainer::accuracy(int64_t correct, double samples) const {
  return static_cast<double>(correct) /
         (samples * static_cast<double>(replica_.pipeline.answers()));
}

StepResult Trainer::make_step(bool asked_to_stop) {
  const StepPlan plan{.step = at_.step,
                      .learning_rate = learning_rate(at_.step + 1),
                      .asked_to_stop = asked_to_stop};
  try {
    const StepResult result = replica_.strategy->step(replica_.worker, feed_, plan);
    // The weights at the start of the epoch gave a finite loss: they are good.
    if (at_.step == 0 && !candidate_.empty()) last_good_ = std::move(candidate_);
    return result;
  } catch (const NotFinite& error) {
    diverged(at_.epoch, at_.global_step + 1, error.what());
  }
}

void Trainer::make_steps() {
  const int64_t steps = replica_.traits.one_update_per_epoch ? 1 : feed_.steps();
  bool stop = false;
  if (!replica_.trains()) replica_.strategy->serve(replica_.worker);
  while (replica_.trains() && !stop && at_.step < steps && !has_reached_target()) {
    const bool asked = stop_->load(std::memory_order_relaxed);
    // With several ranks the request travels with a step, and all stop after it.
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
                       .epochs_done = epochs_done(),
                       .step = r.step,
                       .global_step = at_.global_step,
                       .loss = r.loss / rows,
                       .epoch_loss = at_.epoch_loss / samples,
                       .epoch_accuracy = accuracy(at_.epoch_correct, samples),
                       .gradient_norm = r.gradient_norm,
                       .learning_rate = r.learning_rate,
                       .times = r.times});
  const int64_t eval = config_.train.eval_every;
  if (eval > 0 && at_.global_step % eval == 0 && replica_.traits.global_results) {
    const auto evaluation = evaluate(data_.validation.get());
    if (evaluation) observer_.evaluated({epochs_done(), at_.global_step, *evaluation});
    look_at_target(evaluation);
  }
  const int64_t every = config_.train.checkpoint_every;
  if (every > 0 && at_.global_step % every == 0 && replica_.traits.global_results)
    write_checkpoint();
}

// Averages the running statistics, which differ between ranks even where weights do not.
void Trainer::merge_replicas() {
  const HostMirror& mirror = replica_.parameters.state_on_host();
  Communicator& data = replica_.worker.groups.data;
  if (data.size() == 1 || !replica_.parameters.has_statistics() ||
      !replica_.strategy->replicas_agree())
    return;
  const std::span<float> state = mirror.download();
  if (!replica_.trains()) std::ranges::fill(state, 0.0f);
  data.all_reduce(state, state).wait();
  for (float& value : state) value /= static_cast<float>(replica_.training_ranks);
  mirror.upload();
}

EpochReport Trainer::train_epoch() {
  if (replica_.parameters.weights().size() + replica_.parameters.state().size() <=
      most_snapshot_floats) {
    candidate_ = take_snapshot(replica_.parameters, at_.epoch - 1);
    if (last_good_.empty()) last_good_ = candidate_;
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
    const std::vector<Sums> all = gather_all(replica_.worker.groups.data, sums);
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
                     .epochs_done = epochs_done(),
                     .global_step = at_.global_step,
                     .loss = sums.loss / samples,
                     .accuracy = accuracy(sums.correct, samples),
                     .seconds = clock_.seconds() - start,
                     .gradient_norm = last_.gradient_norm,
                     .learning_rate = last_.learning_rate};
  report.samples_per_second = static_cast<double>(sums.done) / std::max(report.seconds, 1e-9);
  trained_seconds_ += report.seconds;
  trained_samples_ += static_cast<double>(sums.done);
  if (stopped_) return report;
  report.validation = evaluate(data_.validation.get());
  look_at_target(report.validation);
  return report;
}

std::optional<Evaluation> Trainer::evaluate(const Dataset* data) {
  return evaluate_together(data, replica_, ranks_, clock_);
}

// `evaluation`: on the validation part, if there is one.
void Trainer::look_at_target(const std::optional<Evaluation>& evaluation) {
  if (!target_ || has_reached_target()) return;
  const std::optional<Evaluation> seen = evaluation ? evaluation : evaluate(data_.test.get());
  target_result_->reached = target_->is_reached_by(seen->accuracy, seen->loss);
  target_result_->seconds = clock_.seconds() - started_;
  target_result_->epochs = epochs_done();
}

void Trainer::keep_if_best(const EpochReport& report) {
  if (!report.validation) return;
  const double loss = report.validation->loss;
  if (at_.best_epoch > 0 && !(loss < at_.best_loss || std::isnan(at_.best_loss))) return;
  at_.best_loss = loss;
  at_.best_epoch = report.epoch;
  if (config_.train.keep == Keep::best) best_ = take_snapshot(replica_.parameters, report.epoch);
}

bool Trainer::has_stopped_improving() const {
  const int64_t patience = config_.train.early_stopping;
  return patience > 0 && at_.epoch - 1 - at_.best_epoch >= patience;
}

void Trainer::write_checkpoint() {
  if (place_.folder.empty()) return;
  expect_finite_weights();
  const double start = clock_.seconds();
  checkpoint_.write(place_, at_, best_);
  replica_.worker.note("checkpoint", start);
}

ResumedFrom Trainer::resume(const fs::path& folder) {
  ResumedFrom from = checkpoint_.read(folder, updates_per_epoch(), at_, best_);
  from.has_all_epochs = at_.epoch > epochs_ || has_stopped_improving();
  return from;
}

ParallelFigures Trainer::parallel_figures() {
  const std::vector<RankTimes> all = gather_times(ranks_, times_, config_.device.threads);
  ParallelFigures figures = summarise(
      all, replica_.training_ranks * replica_.mesh.pipeline, at_.global_step,
      bytes_per_step(replica_.parameters, replica_.traits.sends_whole_arrays), feed_.share(0).all,
      config_.parallel.strategy, replica_.mesh.pipeline, replica_.pipeline.bubble());
  figures.backend = ranks_.backend();
  figures.ranks_per_node = ranks_.ranks_per_node();
  figures.all_reduce = ranks_.all_reduce_algorithm(replica_.parameters.gradients().size_bytes());
  figures.own = gather_figures(ranks_, replica_.strategy->figures());
  return figures;
}

void Trainer::train_epochs(Summary& summary) {
  last_epoch_ = at_.epoch;
  if (at_.epoch > epochs_ || has_stopped_improving()) {  // resumed after the last epoch
    summary.train_loss = at_.last_loss;
    summary.train_accuracy = at_.last_accuracy;
    summary.validation = evaluate(data_.validation.get());
  }
  while (at_.epoch <= epochs_ && !has_stopped_improving() && !has_reached_target()) {
    const EpochReport report = train_epoch();
    expect_finite_weights();
    last_epoch_ = at_.epoch;
    if (at_.global_step == 0 && replica_.trains()) {  // stopped before the first step
      summary.ending = Ending::interrupted;
      break;
    }
    if (stopped_ && replica_.trains() && at_.step == 0) {
      // Stopped between two epochs: the last one is already reported, this one has no steps.
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
    if (has_reached_target()) break;
    ++at_.epoch;
    at_.step = at_.epoch_correct = at_.epoch_samples = 0;
    at_.epoch_loss = 0;
    at_.last_loss = report.loss;
    at_.last_accuracy = report.accuracy;
    // Ranks that do not meet in every step can write a checkpoint only here.
    if (config_.train.checkpoint_every > 0 && !replica_.traits.global_results) write_checkpoint();
  }
}

Summary Trainer::run(const std::atomic<bool>& stop) {
  stop_ = &stop;
  replica_.prepare();
  started_ = clock_.seconds();
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
  train_epochs(summary);
  if (summary.ending == Ending::finished && (has_stopped_improving() || has_reached_target()))
    summary.ending = Ending::early;
  summary.target = target_result_;
  summary.epochs = epochs_done();
  summary.first_loss = at_.first_loss;
  if (summary.ending != Ending::interrupted) replica_.strategy->finish(replica_.worker);
  expect_finite_weights();
  if (!best_.empty()) {
    restore(best_, replica_.parameters);
    summary.best_epoch = at_.best_epoch;
    summary.validation = evaluate(data_.validation.get());
  }
  if (summary.ending != Ending::interrupted) summary.test = evaluate(data_.test.get());
  if (summary.test && !std::isfinite(summary.test->loss))  // the last step blew up
    diverged(last_epoch_, at_.global_step,
             fmt::format("loss {}, gradient norm {}", summary.test->loss, last_.gradient_norm));
  summary.gradient_seconds = median(gradient_seconds_);
  summary.epoch_seconds = epoch_seconds_;
  summary.samples_per_second = trained_samples_ / std::max(trained_seconds_, 1e-9);
  summary.total_seconds = clock_.seconds() - started_;
  summary.peak_memory_bytes = peak_memory_bytes();
  if (ranks_.size() > 1) summary.parallel = parallel_figures();
  return summary;
}

}  // namespace lockstep
