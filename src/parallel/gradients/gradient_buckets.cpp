#include "parallel/gradients/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace lockstep {

GradientBuckets::GradientBuckets(const Parameters& parameters, int64_t bucket_floats, Reduce reduce,
                                 const Clock& clock)
    : mirror_(parameters.gradients_on_host()),
      arena_(parameters.gradients_and_tail()),
      tail_(mirror_.floats().last(Parameters::tail_floats)),
      first_(parameters.dense_begin()),
      bucket_floats_(static_cast<size_t>(bucket_floats)),
      reduce_(std::move(reduce)),
      clock_(clock),
      complete_(arena_.size()),
      started_(arena_.size()) {}

void GradientBuckets::arm(const StepTail& before) {
  armed_ = true;
  figures_ = before;
  figures_.write(tail_);
}

void GradientBuckets::loss_done(const LossSums& sums) {
  if (!armed_) return;
  figures_.sums.loss += sums.loss;
  figures_.sums.correct += sums.correct;
  figures_.write(tail_);
  complete_ = arena_.size() - tail_.size();
}

void GradientBuckets::layer_done(const std::string&, bool backward, std::span<float> gradients) {
  if (!armed_ || !backward) return;
  const double start_time = clock_.seconds();
  if (!gradients.empty()) {
    const auto begin = static_cast<size_t>(gradients.data() - arena_.data());
    // A branch that is complete before the layers behind it waits for them.
    if (begin + gradients.size() >= complete_)
      complete_ = std::max(first_, std::min(complete_, begin));
    if (started_ - complete_ >= bucket_floats_) add(complete_);
  }
  move_on();
  spent_ += clock_.seconds() - start_time;
}

void GradientBuckets::add(size_t from) {
  if (!reducing_) began_ = clock_.seconds();
  waiting_.push_back({from, started_});
  started_ = from;
  move_on();
}

void GradientBuckets::move_on() {
  while (active_.test() && !waiting_.empty()) {
    const auto [begin, end] = waiting_.front();
    waiting_.pop_front();
    mirror_.download(begin, std::min(end, arena_.size() - tail_.size()) - begin);
    active_ = reduce_(mirror_.floats().subspan(begin, end - begin));
    reducing_ = true;
  }
}

GradientBuckets::Times GradientBuckets::finish() {
  const double start_time = clock_.seconds();
  const double under_way = reducing_ ? start_time - began_ : 0;
  if (started_ > first_) add(first_);
  Times times;
  for (;; move_on()) {
    times.waiting += active_.wait().waiting;
    if (waiting_.empty()) break;
  }
  mirror_.upload(first_, arena_.size() - tail_.size() - first_);
  // Time spent in layer_done() delays the backward pass, so it is exposed.
  times.exposed = clock_.seconds() - start_time - times.waiting + spent_;
  times.hidden = std::max(0.0, under_way - spent_);
  times.held_up = spent_;
  complete_ = started_ = arena_.size();
  reducing_ = false;
  spent_ = 0;
  armed_ = false;
  return times;
}

}  // namespace lockstep
