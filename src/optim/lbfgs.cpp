#include "optim/lbfgs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace lockstep {

Lbfgs::Lbfgs(LbfgsVectors& vectors, const LineSearchConfig& line)
    : vectors_(vectors),
      line_(line),
      products_(static_cast<size_t>(vectors.basis() * vectors.basis())) {}

int Lbfgs::slot(int64_t age) const {
  const int64_t history = vectors_.history();
  return static_cast<int>((next_ - 1 - age + 2 * history) % history);
}

void Lbfgs::gradient_changed() {
  const int gradient = vectors_.gradient_index();
  if (std::ranges::find(changed_, gradient) == changed_.end()) changed_.push_back(gradient);
}

void Lbfgs::update_products() {
  if (!knows_products_) {  // at the start, or after a checkpoint
    changed_ = {vectors_.gradient_index()};
    for (int64_t age = 0; age < pairs_; ++age)
      changed_.insert(changed_.end(), {slot(age), vectors_.history() + slot(age)});
    knows_products_ = true;
  }
  if (changed_.empty()) return;
  const std::vector<double> rows = vectors_.products(changed_);
  const auto width = static_cast<size_t>(vectors_.basis());
  for (size_t i = 0; i < changed_.size(); ++i)
    for (int j = 0; j < vectors_.basis(); ++j)
      product(changed_[i], j) = product(j, changed_[i]) = rows[i * width + static_cast<size_t>(j)];
  changed_.clear();
}

// The two-loop recursion, in coefficients of the basis.
std::vector<double> Lbfgs::direction() {
  const int history = vectors_.history(), gradient = vectors_.gradient_index();
  std::vector<double> d(static_cast<size_t>(vectors_.basis()), 0.0);
  const auto at = [&](int i) -> double& { return d[static_cast<size_t>(i)]; };
  const auto times = [&](int vector) {
    double sum = 0;
    for (int i = 0; i < vectors_.basis(); ++i) sum += at(i) * product(i, vector);
    return sum;
  };
  at(gradient) = -1;
  std::vector<double> alphas;
  for (int64_t age = 0; age < pairs_; ++age) {  // newest first
    const int s = slot(age), y = history + s;
    ENSURE(!vectors_.computes() || product(s, y) > 0);
    alphas.push_back(times(s) / product(s, y));
    at(y) -= alphas.back();
  }
  if (pairs_ > 0) {
    const int s = slot(0), y = history + s;
    for (double& coefficient : d) coefficient *= product(s, y) / product(y, y);
  }
  for (int64_t age = pairs_ - 1; age >= 0; --age) {
    const int s = slot(age), y = history + s;
    const double beta = times(y) / product(s, y);
    at(s) += alphas[static_cast<size_t>(age)] - beta;
  }
  return d;
}

void Lbfgs::forget() { pairs_ = 0; }

Lbfgs::Iteration Lbfgs::iterate(double loss, double first_step) {
  Iteration result{.loss = loss};
  update_products();
  const int gradient = vectors_.gradient_index();
  const bool computes = vectors_.computes();
  const double norm = std::sqrt(product(gradient, gradient));
  if (computes && norm == 0) {
    result.stationary = true;
    return result;
  }
  LinePoint start{0, loss, 0}, end;
  while (true) {
    start.slope = vectors_.begin_line(direction());
    if (!computes) {
      end = vectors_.move(1);
      result.evaluations = 1;
      break;
    }
    LineSearch search(start, pairs_ > 0 ? first_step : first_step / norm, line_);
    while (!search.ended()) {
      end = vectors_.move(search.step());
      search.tell(end.loss, end.slope);
    }
    result.evaluations += search.evaluations();
    if (search.found()) break;
    vectors_.move_back();
    if (pairs_ == 0) return result;
    forget();  // along the gradient then
  }
  result.loss = end.loss;
  result.moved = true;
  gradient_changed();
  // s · y: the change of the slope. Without positive curvature the pair is left out.
  const double curvature = end.step * (end.slope - start.slope);
  const double least = std::numeric_limits<double>::epsilon() * end.step * -start.slope;
  if (computes && !(curvature > least)) return result;
  const auto slot = static_cast<int>(next_);
  vectors_.remember(slot);
  changed_.insert(changed_.end(), {slot, vectors_.history() + slot});
  next_ = (next_ + 1) % vectors_.history();
  pairs_ = std::min<int64_t>(pairs_ + 1, vectors_.history());
  return result;
}

}  // namespace lockstep
