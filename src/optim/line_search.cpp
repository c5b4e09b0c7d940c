#include "optim/line_search.h"

#include <algorithm>
#include <cmath>

namespace lockstep {
namespace {

constexpr double most_growth = 4, least_growth = 1.1;  // of the step, before a minimum is bracketed
constexpr double largest_step = 1e10;
constexpr double share_of_bracket = 0.66;  // that two evaluations must remove

// Of the cubic through two points, in the paper's notation.
double gamma_of(double theta, double a, double b) {
  const double scale = std::max({std::abs(theta), std::abs(a), std::abs(b)});
  const double squared = (theta / scale) * (theta / scale) - (a / scale) * (b / scale);
  return scale * std::sqrt(std::max(0.0, squared));
}

double theta_of(const LinePoint& a, const LinePoint& b) {
  return 3 * (a.loss - b.loss) / (b.step - a.step) + a.slope + b.slope;
}

}  // namespace

LineSearch::LineSearch(const LinePoint& start, double first_step, const LineSearchConfig& config)
    : config_(config),
      start_{0, start.loss, start.slope},
      best_(start_),
      other_(start_),
      step_(std::min(first_step, largest_step)),
      high_(step_ + most_growth * step_),
      largest_(largest_step),
      width_(largest_step),
      width_before_(2 * largest_step) {
  if (!(start.slope < 0) || !(step_ > 0)) state_ = State::failed;
}

void LineSearch::tell(double loss, double slope) {
  ++evaluations_;
  if (!std::isfinite(loss) || !std::isfinite(slope)) {
    largest_ = high_ = step_ = (best_.step + step_) / 2;
    if (evaluations_ >= config_.evaluations) state_ = State::failed;
    return;
  }
  const double required = config_.decrease * start_.slope;  // slope of the required decrease
  const double most = start_.loss + step_ * required;
  if (shifted_ && loss <= most && slope >= 0) shifted_ = false;
  const bool narrow =
      bracketed_ && (high_ - low_ <= config_.precision * high_ || step_ <= low_ || step_ >= high_);
  const bool at_limit = step_ >= largest_ && loss <= most && slope <= required;
  if (loss <= most && std::abs(slope) <= config_.curvature * -start_.slope)
    state_ = State::found;
  else if (narrow || at_limit || evaluations_ >= config_.evaluations)
    state_ = loss < start_.loss ? State::found : State::failed;
  else
    next({step_, loss, slope});
}

void LineSearch::next(const LinePoint& tried) {
  const double required = config_.decrease * start_.slope;
  if (shifted_ && tried.loss <= best_.loss && tried.loss > start_.loss + tried.step * required) {
    // In the first stage, a lower loss without sufficient decrease: the loss minus the decrease.
    const auto shift = [&](LinePoint p, double sign) {
      p.loss -= sign * p.step * required;
      p.slope -= sign * required;
      return p;
    };
    LinePoint best = shift(best_, 1), other = shift(other_, 1);
    step_ = improve(best, other, shift(tried, 1));
    best_ = shift(best, -1);
    other_ = shift(other, -1);
  } else {
    step_ = improve(best_, other_, tried);
  }
  if (bracketed_) {
    if (std::abs(other_.step - best_.step) >= share_of_bracket * width_before_)
      step_ = best_.step + 0.5 * (other_.step - best_.step);
    width_before_ = width_;
    width_ = std::abs(other_.step - best_.step);
    low_ = std::min(best_.step, other_.step);
    high_ = std::max(best_.step, other_.step);
  } else {
    low_ = step_ + least_growth * (step_ - best_.step);
    high_ = step_ + most_growth * (step_ - best_.step);
  }
  step_ = std::clamp(step_, 0.0, largest_);
  if (bracketed_ && (step_ <= low_ || step_ >= high_ || high_ - low_ <= config_.precision * high_))
    step_ = best_.step;
  if (!std::isfinite(step_)) state_ = State::failed;
}

double LineSearch::improve(LinePoint& best, LinePoint& other, const LinePoint& tried) {
  const LinePoint x = best, p = tried;
  const bool opposite = p.slope * (x.slope / std::abs(x.slope)) < 0;
  const double theta = theta_of(x, p);
  // Where the line through the two slopes is 0.
  const double secant = p.step + p.slope / (p.slope - x.slope) * (x.step - p.step);
  double next = 0;
  if (p.loss > x.loss) {  // a higher loss: the minimum is bracketed
    double gamma = gamma_of(theta, x.slope, p.slope);
    if (p.step < x.step) gamma = -gamma;
    const double r = ((gamma - x.slope) + theta) / (((gamma - x.slope) + gamma) + p.slope);
    const double cubic = x.step + r * (p.step - x.step);
    const double quadratic = x.step + x.slope / ((x.loss - p.loss) / (p.step - x.step) + x.slope) /
                                          2 * (p.step - x.step);
    next = std::abs(cubic - x.step) < std::abs(quadratic - x.step)
               ? cubic
               : cubic + (quadratic - cubic) / 2;
    bracketed_ = true;
  } else if (opposite) {  // a lower loss and slopes of opposite sign: bracketed too
    double gamma = gamma_of(theta, x.slope, p.slope);
    if (p.step > x.step) gamma = -gamma;
    const double r = ((gamma - p.slope) + theta) / (((gamma - p.slope) + gamma) + x.slope);
    const double cubic = p.step + r * (x.step - p.step);
    next = std::abs(cubic - p.step) > std::abs(secant - p.step) ? cubic : secant;
    bracketed_ = true;
  } else if (std::abs(p.slope) < std::abs(x.slope)) {  // a lower loss, a smaller slope
    double gamma = gamma_of(theta, x.slope, p.slope);
    if (p.step > x.step) gamma = -gamma;
    const double r = ((gamma - p.slope) + theta) / ((gamma + (x.slope - p.slope)) + gamma);
    const double cubic = r < 0 && gamma != 0 ? p.step + r * (x.step - p.step)
                         : p.step > x.step   ? high_
                                             : low_;
    const bool cubic_is_closer = std::abs(cubic - p.step) < std::abs(secant - p.step);
    if (bracketed_) {
      next = cubic_is_closer ? cubic : secant;
      const double limit = p.step + share_of_bracket * (other.step - p.step);
      next = p.step > x.step ? std::min(limit, next) : std::max(limit, next);
    } else {
      next = std::clamp(cubic_is_closer ? secant : cubic, low_, high_);
    }
  } else if (bracketed_) {  // a lower loss, a slope that does not fall
    double gamma = gamma_of(theta_of(p, other), other.slope, p.slope);
    if (p.step > other.step) gamma = -gamma;
    const double r =
        ((gamma - p.slope) + theta_of(p, other)) / (((gamma - p.slope) + gamma) + other.slope);
    next = p.step + r * (other.step - p.step);
  } else {
    next = p.step > x.step ? high_ : low_;
  }
  if (p.loss > x.loss) {
    other = p;
  } else {
    if (opposite) other = x;
    best = p;
  }
  return next;
}

}  // namespace lockstep
