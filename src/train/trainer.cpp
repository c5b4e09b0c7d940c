#include "train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/memory.h"
#include "train/evaluator.h"

namespace lockstep {
namespace {

Shape input_of(const DataSplits& data) { return data.train->sample_shape(); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int64_t micro_batch_for(int64_t batch, int64_t limit, int64_t samples) {
  if (batch == 0 || batch >= samples) {
    const int64_t pieces = (samples + limit - 1) / limit;
    return (samples + pieces - 1) / pieces;
  }
  for (int64_t size = std::min(batch, limit); size > limit / 2; --size)
    if (batch % size == 0) return size;
  return batch;  // smaller than the limit already, or not to be cut evenly
}

Trainer::Trainer(const RunConfig& config, Device& device, const Clock& clock,
                 const DataSplits& data, Observer& observer)
    : config_(config),
      device_(device),
      clock_(clock),
      data_(data),
      observer_(observer),
      network_(config.model.layers, input_of(data)),
      parameters_(network_),
      batch_(config.train.batch == 0 ? data.train->size()
                                     : std::min(config.train.batch, data.train->size())),
      micro_batch_(micro_batch_for(batch_, config.train.micro_batch, data.train->size())),
      steps_per_epoch_((data.train->size() + batch_ - 1) / batch_),
      program_(network_, loss_named(config.train.loss), device, micro_batch_),
      optimizer_(config.optimizer, device, parameters_.weights().size()),
      loader_(*data.train, micro_batch_, static_cast<uint64_t>(config.seed), true,
              config.data.workers) {
  network_.expect_outputs(static_cast<int64_t>(data.train->classes().size()), config.data.name);
  parameters_.initialise(init_named(config.model.init), static_cast<uint64_t>(config.seed));
}

double Trainer::current_rate(int64_t epoch, int64_t step) const {
  // The first step of a warm-up already moves: the rate is that of the step's end.
  const double done = static_cast<double>(epoch - 1) +
                      static_cast<double>(config_.schedule.warmup_epochs > 0 ? step : step - 1) /
                          static_cast<double>(steps_per_epoch_);
  return learning_rate(config_.schedule, config_.optimizer.lr, done,
                       static_cast<double>(config_.train.epochs), 1);
}

Trainer::Snapshot Trainer::snapshot(int64_t epoch) const {
  const auto weights = parameters_.weights(), state = parameters_.state();
  return {epoch, {weights.begin(), weights.end()}, {state.begin(), state.end()}};
}

void Trainer::restore(const Snapshot& snapshot) {
  std::copy(snapshot.weights.begin(), snapshot.weights.end(), parameters_.weights().begin());
  std::copy(snapshot.state.begin(), snapshot.state.end(), parameters_.state().begin());
}

void Trainer::diverged(int64_t epoch, int64_t step, double loss, double norm) {
  restore(last_good_);
  throw Diverged(
      "training diverged at step {} (epoch {}): loss {}, gradient norm {}. The weights from the "
      "end of epoch {} are kept. Try a smaller optimizer.lr (it was {}), or train.clip_norm=1",
      step, epoch, loss, norm, last_good_.epoch, config_.optimizer.lr);
}

StepReport Trainer::step(int64_t epoch, int64_t step, EpochSums& sums) {
  const int64_t first = (step - 1) * batch_;
  const int64_t rows = std::min(batch_, data_.train->size() - first);
  LossSums total;
  double seconds = 0;
  for (int64_t done = 0; done < rows;) {
    const Batch* piece = loader_.next();
    ENSURE(piece != nullptr);
    const double start = clock_.seconds();
    const LossSums part = program_.gradients(parameters_, piece->x.data(), piece->rows,
                                             {.labels = piece->labels, .values = {}},
                                             {.seed = static_cast<uint64_t>(config_.seed),
                                              .epoch = static_cast<uint64_t>(epoch),
                                              .ids = piece->ids},
                                             rows, done > 0);
    seconds += clock_.seconds() - start;
    total.loss += part.loss;
    total.correct += part.correct;
    done += piece->rows;
  }
  gradient_seconds_.push_back(seconds);
  const double loss = total.loss / static_cast<double>(rows);
  const double norm = std::sqrt(device_.squared_norm(parameters_.gradients()));
  if (!std::isfinite(loss) || !std::isfinite(norm))
    diverged(epoch, optimizer_.steps() + 1, loss, norm);
  if (step == 1) last_good_ = std::move(candidate_);  // they have just given a finite loss
  const double limit = config_.train.clip_norm;
  const double scale = limit > 0 && norm > limit ? limit / norm : 1;
  const double rate = current_rate(epoch, step);
  gradient_norm_ = norm;
  optimizer_.step(parameters_.weights(), parameters_.gradients(), static_cast<float>(rate),
                  static_cast<float>(scale));
  sums.loss += total.loss;
  sums.correct += total.correct;
  sums.samples += rows;
  const double samples = static_cast<double>(sums.samples);
  return {.epoch = epoch,
          .step = step,
          .global_step = optimizer_.steps(),
          .loss = loss,
          .epoch_loss = sums.loss / samples,
          .epoch_accuracy = static_cast<double>(sums.correct) / samples,
          .gradient_norm = norm,
          .learning_rate = rate};
}

EpochReport Trainer::train_epoch(int64_t epoch, const std::atomic<bool>& stop) {
  candidate_ = snapshot(epoch - 1);
  const double start = clock_.seconds();
  loader_.start_epoch(epoch);
  EpochSums sums;
  StepReport last;
  for (int64_t i = 1; i <= steps_per_epoch_ && !stop.load(std::memory_order_relaxed); ++i) {
    last = step(epoch, i, sums);
    observer_.step_done(last);
  }
  EpochReport report{.epoch = epoch,
                     .global_step = optimizer_.steps(),
                     .loss = last.epoch_loss,
                     .accuracy = last.epoch_accuracy,
                     .seconds = clock_.seconds() - start,
                     .gradient_norm = last.gradient_norm,
                     .learning_rate = last.learning_rate};
  report.samples_per_second = static_cast<double>(sums.samples) / std::max(report.seconds, 1e-9);
  if (data_.validation && !stop.load(std::memory_order_relaxed))
    report.validation = evaluate(*data_.validation, program_, parameters_, clock_);
  return report;
}

void Trainer::keep_if_best(const EpochReport& report) {
  if (!report.validation) return;
  if (best_epoch_ > 0 && !(report.validation->loss < best_loss_ || std::isnan(best_loss_))) return;
  best_loss_ = report.validation->loss;
  best_epoch_ = report.epoch;
  if (config_.train.keep != "best") return;
  best_ = snapshot(report.epoch);
}

Summary Trainer::run(const std::atomic<bool>& stop) {
  const double start = clock_.seconds();
  observer_.run_started({.name = config_.name,
                         .data = data_.provenance,
                         .device = device_.description(),
                         .parameters = network_.parameter_count(),
                         .samples = data_.train->size(),
                         .epochs = config_.train.epochs,
                         .steps_per_epoch = steps_per_epoch_});
  Summary summary{.name = config_.name,
                  .data = data_.provenance,
                  .device = device_.description(),
                  .seed = config_.seed,
                  .parameters = network_.parameter_count()};
  double trained_seconds = 0, trained_samples = 0;
  for (int64_t epoch = 1; epoch <= config_.train.epochs; ++epoch) {
    const EpochReport report = train_epoch(epoch, stop);
    trained_seconds += report.seconds;
    trained_samples += report.samples_per_second * report.seconds;
    if (report.global_step == 0) {  // interrupted before anything was done
      summary.ending = Ending::interrupted;
      break;
    }
    summary.epochs = epoch;
    summary.train_loss = report.loss;
    summary.train_accuracy = report.accuracy;
    summary.validation = report.validation;
    summary.epoch_seconds.push_back(report.seconds);
    observer_.epoch_done(report);
    keep_if_best(report);
    if (stop.load(std::memory_order_relaxed)) {
      summary.ending = Ending::interrupted;
      break;
    }
    const int64_t patience = config_.train.early_stopping;
    if (patience > 0 && epoch - best_epoch_ >= patience) {
      summary.ending = Ending::early;
      break;
    }
  }
  if (!best_.weights.empty()) {
    restore(best_);
    summary.best_epoch = best_epoch_;
    summary.validation = evaluate(*data_.validation, program_, parameters_, clock_);
  }
  if (data_.test && summary.ending != Ending::interrupted)
    summary.test = evaluate(*data_.test, program_, parameters_, clock_);
  if (summary.test && !std::isfinite(summary.test->loss))  // the last step blew up
    diverged(summary.epochs, optimizer_.steps(), summary.test->loss, gradient_norm_);
  summary.gradient_seconds = median(gradient_seconds_);
  summary.samples_per_second = trained_samples / std::max(trained_seconds, 1e-9);
  summary.total_seconds = clock_.seconds() - start;
  summary.peak_memory_bytes = peak_memory_bytes();
  return summary;
}

}  // namespace lockstep
