#include "parallel/lbfgs/sandblaster_coordinator.h"

#include <cmath>
#include <utility>

namespace lockstep::sandblaster {

Coordinator::Coordinator(Communicator& ranks, const OptimizerConfig& optimizer, int workers,
                         std::vector<ArenaPart> shards, bool computes)
    : ranks_(ranks),
      decay_(optimizer.weight_decay),
      computes_(computes),
      iterations_(optimizer.iterations),
      history_(static_cast<int>(optimizer.history)),
      workers_(workers),
      shards_(std::move(shards)),
      lbfgs_(static_cast<LbfgsVectors&>(*this)) {}

void Coordinator::serve() {
  step_ = 0;
  ended_ = 0;
  ends_.clear();
  while (begin_step()) make_step();
  command({.kind = Command::Kind::end_of_epoch});
}

// -------------------------------------------------------------------------------------- workers

bool Coordinator::begin_step() {
  begun_ = false;
  stop_ = false;
  queue_.reset();
  while (!begun_ && ended_ < workers_) wait_for_worker();
  return begun_;
}

void Coordinator::wait_for_worker() {
  Ask ask;
  int worker = 0;
  ranks_.receive_any(into(ask), ask_tag, worker).wait();
  if (ask.kind == Ask::Kind::end_of_epoch) {
    ++ended_;
    return;
  }
  if (ask.step < step_) {  // the others have ended its step
    ranks_.send(bytes_of(ends_[static_cast<size_t>(ask.step)]), worker, task_tag).wait();
    return;
  }
  if (ask.kind == Ask::Kind::begin) {
    if (!std::exchange(begun_, true)) begin_ = ask;
    stop_ = stop_ || ask.stop;
  } else if (queue_ && ask.evaluation == evaluation_ && queue_->finish(ask.portion)) {
    losses_[static_cast<size_t>(ask.portion)] = ask.loss;
    correct_ += ask.correct;
  }
  deal(worker);
}

void Coordinator::deal(int worker) {
  const std::optional<int64_t> portion = queue_ ? queue_->next(worker) : std::nullopt;
  if (!portion) {
    idle_.push_back(worker);
    return;
  }
  const Task task{.kind = Task::Kind::compute, .evaluation = evaluation_, .portion = *portion};
  ranks_.send(bytes_of(task), worker, task_tag).wait();
}

Coordinator::Sums Coordinator::evaluate() {
  ++evaluation_;
  ++evaluations_;
  command({.kind = Command::Kind::evaluate, .evaluation = evaluation_, .count = begin_.portions});
  queue_.emplace(begin_.portions, workers_);
  losses_.assign(static_cast<size_t>(begin_.portions), 0.0);
  correct_ = 0;
  for (const int worker : std::exchange(idle_, {})) deal(worker);
  while (!queue_->complete()) wait_for_worker();
  backups_ += queue_->backups();
  command({.kind = Command::Kind::finish});
  const std::vector<double> sums = replies(static_cast<size_t>(Evaluated::count));
  const auto at = [&](Evaluated which) { return sums[static_cast<size_t>(which)]; };
  Sums result{.gradient_squares = at(Evaluated::gradient_squares),
              .slope = at(Evaluated::slope),
              .correct = correct_};
  for (const double loss : losses_) result.rows_loss += loss;
  result.loss = result.rows_loss / static_cast<double>(begin_.rows) +
                decay_ / 2 * at(Evaluated::weight_squares);
  return result;
}

// ---------------------------------------------------------------------------------------- steps

void Coordinator::make_step() {
  last_ = evaluate();
  lbfgs_.gradient_changed();
  Sums accepted = last_;
  if (std::isfinite(last_.loss) && std::isfinite(last_.gradient_squares))
    for (int64_t i = 0; i < iterations_; ++i) {
      if (!lbfgs_.iterate(accepted.loss, begin_.rate).moved) break;
      accepted = last_;
    }
  ++steps_;
  end_step(accepted);
}

void Coordinator::end_step(const Sums& sums) {
  ends_.push_back({.kind = Task::Kind::end_of_step,
                   .loss = sums.rows_loss,
                   .gradient_norm = std::sqrt(sums.gradient_squares),
                   .correct = sums.correct,
                   .rows = begin_.rows,
                   .stop = stop_});
  ++step_;
  for (const int worker : std::exchange(idle_, {}))
    ranks_.send(bytes_of(ends_.back()), worker, task_tag).wait();
}

std::vector<NamedFigure> Coordinator::figures() const {
  if (steps_ == 0) return {};
  const auto steps = static_cast<double>(steps_);
  return {{"evaluations_per_step", static_cast<double>(evaluations_) / steps},
          {"backup_portions_per_step", static_cast<double>(backups_) / steps}};
}

// -------------------------------------------------------------------------------------- servers

void Coordinator::command(const Command& command) {
  this->command(command, std::span<const double>());
}

template <typename T>
void Coordinator::command(const Command& command, std::span<const T> operand) {
  for (size_t i = 0; i < shards_.size(); ++i) {
    const int server = workers_ + static_cast<int>(i);
    ranks_.send(bytes_of(command), server, command_tag).wait();
    if (!operand.empty()) ranks_.send(std::as_bytes(operand), server, operand_tag).wait();
  }
}

std::vector<double> Coordinator::replies(size_t values) {
  std::vector<double> sums(values, 0.0), blocks;
  for (size_t i = 0; i < shards_.size(); ++i) {
    const auto count = static_cast<size_t>(shards_[i].blocks());
    blocks.resize(values * count);
    ranks_
        .receive(std::as_writable_bytes(std::span(blocks)), workers_ + static_cast<int>(i),
                 reply_tag)
        .wait();
    for (size_t value = 0; value < values; ++value)
      for (size_t block = 0; block < count; ++block) sums[value] += blocks[value * count + block];
  }
  return sums;
}

std::vector<double> Coordinator::products(std::span<const int> vectors) {
  command({.kind = Command::Kind::products, .count = static_cast<int64_t>(vectors.size())},
          vectors);
  return replies(vectors.size() * static_cast<size_t>(basis()));
}

double Coordinator::begin_line(std::span<const double> coefficients) {
  command({.kind = Command::Kind::begin_line, .count = basis()}, coefficients);
  return replies(1)[0];
}

LinePoint Coordinator::move(double step) {
  command({.kind = Command::Kind::move, .step = step});
  last_ = evaluate();
  return {step, last_.loss, last_.slope};
}

}  // namespace lockstep::sandblaster
