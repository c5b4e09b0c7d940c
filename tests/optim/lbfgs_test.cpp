#include "optim/lbfgs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <random>

namespace lockstep {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Vector sum(const Vector& a, double factor, const Vector& b) {
  Vector c = a;
  for (size_t i = 0; i < c.size(); ++i) c[i] += factor * b[i];
  return c;
}

// A function of vectors in double, and its gradient.
struct Function {
  std::function<double(const Vector&)> loss;
  std::function<Vector(const Vector&)> gradient;
};

Function rosenbrock() {
  return {[](const Vector& x) {
            double loss = 0;
            for (size_t i = 0; i + 1 < x.size(); ++i)
              loss += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
            return loss;
          },
          [](const Vector& x) {
            Vector g(x.size(), 0.0);
            for (size_t i = 0; i + 1 < x.size(); ++i) {
              const double rest = x[i + 1] - x[i] * x[i];
              g[i] += -400 * x[i] * rest - 2 * (1 - x[i]);
              g[i + 1] += 200 * rest;
            }
            return g;
          }};
}

Function quartic(double fourth_power = 1) {
  return {[=](const Vector& x) {
            double loss = 0;
            for (size_t i = 0; i < x.size(); ++i)
              loss += static_cast<double>(i + 1) * x[i] * x[i] / 2 +
                      fourth_power * std::pow(x[i], 4) / 4;
            return loss;
          },
          [=](const Vector& x) {
            Vector g(x.size());
            for (size_t i = 0; i < x.size(); ++i)
              g[i] = static_cast<double>(i + 1) * x[i] + fourth_power * std::pow(x[i], 3);
            return g;
          }};
}

// Vectors in one array each. Records directions.
class DenseVectors final : public LbfgsVectors {
 public:
  DenseVectors(Function function, Vector x, int history)
      : function_(std::move(function)), x_(std::move(x)), history_(history) {
    kept_.resize(static_cast<size_t>(2 * history), Vector(x_.size(), 0.0));
    gradient_ = function_.gradient(x_);
  }

  int history() const override { return history_; }
  Vector products(std::span<const int> vectors) override {
    ++rounds;
    Vector all;
    for (const int one : vectors)
      for (int other = 0; other < basis(); ++other) all.push_back(dot(vector(one), vector(other)));
    return all;
  }
  double begin_line(std::span<const double> coefficients) override {
    start_ = x_;
    start_gradient_ = gradient_;
    direction = Vector(x_.size(), 0.0);
    for (int i = 0; i < basis(); ++i)
      direction = sum(direction, coefficients[static_cast<size_t>(i)], vector(i));
    return dot(direction, gradient_);
  }
  LinePoint move(double step) override {
    ++evaluations;
    x_ = sum(start_, step, direction);
    gradient_ = function_.gradient(x_);
    return {step, function_.loss(x_), dot(direction, gradient_)};
  }
  void move_back() override {
    x_ = start_;
    gradient_ = start_gradient_;
  }
  void remember(int slot) override {
    kept_[static_cast<size_t>(slot)] = sum(x_, -1, start_);
    kept_[static_cast<size_t>(slot + history_)] = sum(gradient_, -1, start_gradient_);
    pairs.emplace_back(kept_[static_cast<size_t>(slot)],
                       kept_[static_cast<size_t>(slot + history_)]);
  }

  const Vector& x() const { return x_; }
  const Vector& gradient() const { return gradient_; }
  double loss() const { return function_.loss(x_); }

  Vector direction;
  std::vector<std::pair<Vector, Vector>> pairs;  // s and y, oldest first
  int rounds = 0, evaluations = 0;

 private:
  const Vector& vector(int index) const {
    return index == gradient_index() ? gradient_ : kept_[static_cast<size_t>(index)];
  }

  Function function_;
  Vector x_, gradient_, start_, start_gradient_;
  int history_;
  std::vector<Vector> kept_;
};

// -H g by the two-loop recursion of textbooks (Nocedal and Wright, algorithm 7.4).
Vector two_loops(const std::vector<std::pair<Vector, Vector>>& pairs, size_t history,
                 const Vector& gradient) {
  const size_t first = pairs.size() > history ? pairs.size() - history : 0;
  Vector q = gradient, alphas;
  for (size_t i = pairs.size(); i-- > first;) {
    const auto& [s, y] = pairs[i];
    alphas.push_back(dot(s, q) / dot(s, y));
    q = sum(q, -alphas.back(), y);
  }
  if (!pairs.empty()) {
    const auto& [s, y] = pairs.back();
    for (double& value : q) value *= dot(s, y) / dot(y, y);
  }
  for (size_t i = first; i < pairs.size(); ++i) {
    const auto& [s, y] = pairs[i];
    q = sum(q, alphas[pairs.size() - 1 - i] - dot(y, q) / dot(s, y), s);
  }
  for (double& value : q) value = -value;
  return q;
}

// -H g with the matrix H of BFGS: H' = (1 - r s y^T) H (1 - r y s^T) + r s s^T.
Vector dense_bfgs(const std::vector<std::pair<Vector, Vector>>& pairs, const Vector& gradient) {
  const size_t n = gradient.size();
  std::vector<Vector> h(n, Vector(n, 0.0));
  const double start = pairs.empty() ? 1
                                     : dot(pairs.back().first, pairs.back().second) /
                                           dot(pairs.back().second, pairs.back().second);
  for (size_t i = 0; i < n; ++i) h[i][i] = start;
  for (const auto& [s, y] : pairs) {
    const double r = 1 / dot(s, y);
    Vector hy(n);
    for (size_t i = 0; i < n; ++i) hy[i] = dot(h[i], y);
    const double yhy = dot(y, hy);
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        h[i][j] += (r * r * yhy + r) * s[i] * s[j] - r * (s[i] * hy[j] + hy[i] * s[j]);
  }
  Vector d(n);
  for (size_t i = 0; i < n; ++i) d[i] = -dot(h[i], gradient);
  return d;
}

void expect_near(const Vector& a, const Vector& b, double tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  const double scale = std::sqrt(dot(b, b));
  for (size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], tolerance * scale) << what << ", element " << i;
}

Vector usual_start(size_t n) {
  Vector x(n, 1.0);
  for (size_t i = 0; i < n; i += 2) x[i] = -1.2;
  return x;
}

TEST(Lbfgs, MakesTheIteratesOfScipy) {
  std::ifstream file(std::string(LOCKSTEP_TESTS_FOLDER) + "/golden/lbfgs-iterates.txt");
  std::string version, name;
  std::getline(file, version);
  size_t n = 0, count = 0;
  int history = 0, functions = 0;
  while (file >> name >> n >> history >> count) {
    Vector x(n);
    const auto read = [&] {
      for (double& value : x) file >> value;
    };
    read();
    DenseVectors vectors(name == "quartic" ? quartic() : rosenbrock(), x, history);
    Lbfgs lbfgs(vectors);
    double loss = vectors.loss();
    for (size_t i = 1; i < count; ++i) {
      const Lbfgs::Iteration iteration = lbfgs.iterate(loss, 1);
      ASSERT_TRUE(iteration.moved) << name << " iteration " << i;
      loss = iteration.loss;
      read();
      // Rounding grows with the number of iterations.
      expect_near(vectors.x(), x, i < 15 ? 1e-10 : 1e-6, name + " iteration " + std::to_string(i));
    }
    EXPECT_LT(std::sqrt(dot(vectors.gradient(), vectors.gradient())), 1e-5) << name;
    EXPECT_EQ(vectors.rounds, static_cast<int>(count) - 1) << "one round of products per iteration";
    ++functions;
  }
  EXPECT_EQ(functions, 3);
}

TEST(Lbfgs, HasTheDirectionsOfTheTwoLoopRecursionAndOfTheDenseMatrix) {
  DenseVectors vectors(rosenbrock(), usual_start(10), 40);
  Lbfgs lbfgs(vectors);
  double loss = vectors.loss();
  for (int i = 0; i < 30; ++i) {
    const auto pairs = vectors.pairs;
    const Vector gradient = vectors.gradient();
    loss = lbfgs.iterate(loss, 1).loss;
    EXPECT_LT(dot(vectors.direction, gradient), 0) << i;
    const std::string what = "iteration " + std::to_string(i);
    expect_near(vectors.direction, two_loops(pairs, 40, gradient), 1e-8, what);
    expect_near(vectors.direction, dense_bfgs(pairs, gradient), 1e-6, what);
  }
  EXPECT_EQ(lbfgs.pairs(), 30);
}

TEST(Lbfgs, FulfilsTheSecantConditionForTheNewestPair) {
  DenseVectors vectors(quartic(), Vector(8, 1.0), 3);
  Lbfgs lbfgs(vectors);
  double loss = vectors.loss();
  for (int i = 0; i < 5; ++i) loss = lbfgs.iterate(loss, 1).loss;
  // H y = s, with H by the recursion on the pairs that are kept.
  const auto& [s, y] = vectors.pairs.back();
  Vector h = two_loops(vectors.pairs, 3, y);
  for (double& value : h) value = -value;
  expect_near(h, s, 1e-12, "H y");
  EXPECT_EQ(lbfgs.pairs(), 3);
}

TEST(Lbfgs, StopsWhereTheGradientIsZero) {
  DenseVectors vectors(quartic(), Vector(4, 0.0), 3);
  const Lbfgs::Iteration iteration = Lbfgs(vectors).iterate(0, 1);
  EXPECT_TRUE(iteration.stationary);
  EXPECT_FALSE(iteration.moved);
  EXPECT_EQ(vectors.evaluations, 0);
}

TEST(Lbfgs, ComesBackFromStepsWithoutAFiniteLoss) {
  // -log(1 - x) - log(1 + x) + x: not a number beyond 1.
  const Function barrier{
      [](const Vector& x) { return -std::log(1 - x[0]) - std::log(1 + x[0]) + x[0]; },
      [](const Vector& x) { return Vector{1 / (1 - x[0]) - 1 / (1 + x[0]) + 1}; }};
  DenseVectors vectors(barrier, {0.9}, 5);
  Lbfgs lbfgs(vectors);
  double loss = vectors.loss();
  for (int i = 0; i < 20; ++i) loss = lbfgs.iterate(loss, 100).loss;
  EXPECT_NEAR(vectors.x()[0], 1 - std::sqrt(2), 1e-6);
}

TEST(Lbfgs, GoesBackWhereNoLowerLossIsFound) {
  // A gradient of the wrong sign leads uphill.
  Function wrong = quartic();
  wrong.gradient = [](const Vector& x) {
    return sum(Vector(x.size(), 0.0), -1, quartic().gradient(x));
  };
  DenseVectors vectors(wrong, Vector(3, 1.0), 5);
  const double loss = vectors.loss();
  const Lbfgs::Iteration iteration = Lbfgs(vectors).iterate(loss, 1);
  EXPECT_FALSE(iteration.moved);
  EXPECT_EQ(vectors.x(), Vector(3, 1.0));
  EXPECT_EQ(iteration.loss, loss);
}

TEST(Lbfgs, GoesOnWithItsHistoryAfterACheckpoint) {
  DenseVectors unbroken(rosenbrock(), usual_start(6), 4), broken = unbroken;
  Lbfgs through(unbroken);
  double loss = unbroken.loss();
  for (int i = 0; i < 12; ++i) loss = through.iterate(loss, 1).loss;
  int64_t pairs = 0, next = 0;
  loss = broken.loss();
  {
    Lbfgs first(broken);
    for (int i = 0; i < 7; ++i) loss = first.iterate(loss, 1).loss;
    pairs = first.kept_pairs();
    next = first.next_slot();
  }
  Lbfgs second(broken);
  second.kept_pairs() = pairs;
  second.next_slot() = next;
  for (int i = 0; i < 5; ++i) loss = second.iterate(loss, 1).loss;
  EXPECT_EQ(broken.x(), unbroken.x());
}

TEST(LineSearch, FindsStepsThatSatisfyTheStrongWolfeConditions) {
  // Functions of the paper by Moré and Thuente: flat, narrow, and with a minimum far away.
  struct Line {
    const char* name;
    double (*loss)(double);
    double (*slope)(double);
  };
  const Line lines[] = {
      {"1", [](double a) { return -a / (a * a + 2); },
       [](double a) { return (a * a - 2) / ((a * a + 2) * (a * a + 2)); }},
      {"2", [](double a) { return std::pow(a + 0.004, 5) - 2 * std::pow(a + 0.004, 4); },
       [](double a) { return 5 * std::pow(a + 0.004, 4) - 8 * std::pow(a + 0.004, 3); }},
      {"4", [](double a) { return -a + 1e3 * a * a; }, [](double a) { return -1 + 2e3 * a; }}};
  for (const Line& line : lines)
    for (const double first : {1e-3, 0.1, 10.0, 1000.0}) {
      const LineSearchConfig config{.decrease = 1e-3, .curvature = 0.1, .precision = 1e-10};
      LineSearch search({0, line.loss(0), line.slope(0)}, first, config);
      double at = 0;
      while (!search.ended()) {
        at = search.step();
        search.tell(line.loss(at), line.slope(at));
      }
      ASSERT_TRUE(search.found()) << line.name << " from " << first;
      EXPECT_LE(line.loss(at), line.loss(0) + 1e-3 * at * line.slope(0)) << line.name;
      EXPECT_LE(std::abs(line.slope(at)), 0.1 * std::abs(line.slope(0))) << line.name;
      EXPECT_LE(search.evaluations(), 15) << line.name << " from " << first;
    }
}

TEST(LineSearch, RefusesADirectionThatDoesNotDescend) {
  for (const double slope : {0.0, 1.0, std::nan("")})
    EXPECT_TRUE(LineSearch({0, 1, slope}, 1, {}).ended());
}

}  // namespace
}  // namespace lockstep
