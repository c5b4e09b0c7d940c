#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "optim/line_search.h"

namespace lockstep {

// The vectors of L-BFGS, wherever they are stored: the weights and the loss's gradient there, a
// line from some weights along a direction, and a history of steps: changes of the weights (s) and
// of the gradient (y). The basis of directions are all s, then all y, then the gradient.
class LbfgsVectors {
 public:
  virtual ~LbfgsVectors() = default;

  virtual int history() const = 0;  // number of steps that can be kept
  int basis() const { return 2 * history() + 1; }
  int gradient_index() const { return 2 * history(); }

  // Dot products of some vectors of the basis with all of them: a row of basis() for each. Those of
  // two s are not needed.
  virtual std::vector<double> products(std::span<const int> vectors) = 0;
  // The line begins at the present weights; its direction is a sum over the basis. Returns the dot
  // product of direction and gradient.
  virtual double begin_line(std::span<const double> coefficients) = 0;
  // Moves the weights to this step of the line and computes loss and gradient there.
  virtual LinePoint move(double step) = 0;
  // Back to the weights and the gradient at the line's begin.
  virtual void move_back() = 0;
  // Keeps the change since the line's begin.
  virtual void remember(int slot) = 0;
  // False in simulations that compute nothing: no decision can be based on values.
  virtual bool computes() const { return true; }
};

// Limited-memory BFGS in its vector-free form (Chen et al., NIPS 2014): the two-loop recursion
// works on the dot products of the basis, so that vectors may be in parts on many ranks, with one
// round of messages per iteration. Dot products, losses and coefficients are in double.
class Lbfgs {
 public:
  explicit Lbfgs(LbfgsVectors& vectors, const LineSearchConfig& line = {});

  // The gradient is of other samples, or of other weights, than at the end of the last iteration.
  void gradient_changed();

  struct Iteration {
    double loss = 0;
    bool moved = false;       // false: no lower loss was found; the weights are as before
    bool stationary = false;  // the gradient is 0
    int evaluations = 0;
  };
  // One iteration from weights with this loss. `first_step`: first step of the line search, as a
  // multiple of the direction; without history, of a step of length 1.
  Iteration iterate(double loss, double first_step);

  int pairs() const { return static_cast<int>(pairs_); }

  // What persists between iterations, apart from vectors; part of a checkpoint.
  int64_t& kept_pairs() { return pairs_; }
  int64_t& next_slot() { return next_; }

 private:
  int slot(int64_t age) const;  // of the pair that is `age` pairs older than the newest
  double& product(int a, int b) { return products_[static_cast<size_t>(a * vectors_.basis() + b)]; }
  void update_products();
  std::vector<double> direction();  // coefficients
  void forget();

  LbfgsVectors& vectors_;
  LineSearchConfig line_;
  int64_t pairs_ = 0, next_ = 0;
  std::vector<double> products_;
  std::vector<int> changed_;  // vectors whose products must be computed
  bool knows_products_ = false;
};

}  // namespace lockstep
