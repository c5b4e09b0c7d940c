#pragma once

namespace lockstep {

struct LineSearchConfig {
  double decrease = 1e-3;  // loss(step) <= loss(0) + decrease × step × slope(0)
  double curvature = 0.9;  // |slope(step)| <= curvature × |slope(0)|
  double precision = 0.1;  // a bracket of this share of its upper end is narrow enough
  int evaluations = 20;    // the most of one search
};

// A point on the line: the loss and its derivative along the line.
struct LinePoint {
  double step = 0, loss = 0, slope = 0;
};

// The line search of Moré and Thuente (ACM TOMS 20, 1994), whose steps satisfy the strong Wolfe
// conditions. The caller evaluates the loss where the search asks for it, until it has ended.
class LineSearch {
 public:
  // `start`: at step 0; its slope is negative.
  LineSearch(const LinePoint& start, double first_step, const LineSearchConfig& config);

  double step() const { return step_; }  // to evaluate next, or the step that was found
  // The loss may be infinite or not a number: the search then comes closer to the start.
  void tell(double loss, double slope);

  bool ended() const { return state_ != State::searching; }
  // Whether the last step that was evaluated satisfies the conditions, or at least lowers the loss.
  bool found() const { return state_ == State::found; }
  int evaluations() const { return evaluations_; }

 private:
  enum class State { searching, found, failed };

  void next(const LinePoint& tried);
  // One step of the search: updates the interval that contains a minimiser, returns the next step.
  double improve(LinePoint& best, LinePoint& other, const LinePoint& tried);

  LineSearchConfig config_;
  LinePoint start_;
  LinePoint best_, other_;  // ends of the interval; `best_` has the lowest loss so far
  double step_, low_ = 0, high_, largest_;
  double width_, width_before_;
  bool bracketed_ = false;
  bool shifted_ =
      true;  // the loss minus its required decrease has not been below 0 with a rise yet
  int evaluations_ = 0;
  State state_ = State::searching;
};

}  // namespace lockstep
