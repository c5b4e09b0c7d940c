#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/device/reference/reference_device.h"

namespace lockstep {
namespace {

class ReferenceLoss final : public LossKernel {
 public:
  explicit ReferenceLoss(const LossSpec& spec) : s_(spec) {}

  LossSums run(int64_t rows, const float* y, const Targets& targets, float* dy,
               int64_t divisor) override {
    LossSums sums;
    for (int64_t n = 0; n < rows * s_.positions; ++n) {
      const float* row = y + n * s_.outputs;
      float* d = dy ? dy + n * s_.outputs : nullptr;
      const auto target = [&](int64_t o) {
        return targets.values.empty() ? (targets.labels[size_t(n)] == o ? 1.0 : 0.0)
                                      : double(targets.values[size_t(n * s_.outputs + o)]);
      };
      const int64_t best = std::max_element(row, row + s_.outputs) - row;
      if (target(best) > 0.5) ++sums.correct;
      sums.loss += row_loss(row, target, d, double(divisor * s_.positions));
    }
    sums.loss /= double(s_.positions);
    return sums;
  }

 private:
  template <typename Target>
  double row_loss(const float* row, Target target, float* d, double divisor) const {
    const double outputs = double(s_.outputs);
    double loss = 0;
    switch (s_.kind) {
      case LossKind::softmax_cross_entropy: {
        const double largest = *std::max_element(row, row + s_.outputs);
        double sum = 0;
        for (int64_t o = 0; o < s_.outputs; ++o) sum += std::exp(row[o] - largest);
        for (int64_t o = 0; o < s_.outputs; ++o) {
          loss += target(o) * (std::log(sum) + largest - row[o]);
          if (d) d[o] = float((std::exp(row[o] - largest) / sum - target(o)) / divisor);
        }
        break;
      }
      case LossKind::sigmoid_cross_entropy:  // mean over outputs, as in PyTorch
        for (int64_t o = 0; o < s_.outputs; ++o) {
          const double z = row[o];
          loss += (std::max(z, 0.0) - z * target(o) + std::log1p(std::exp(-std::abs(z)))) / outputs;
          if (d) d[o] = float((1 / (1 + std::exp(-z)) - target(o)) / (divisor * outputs));
        }
        break;
      case LossKind::mean_squared_error:
        for (int64_t o = 0; o < s_.outputs; ++o) {
          const double error = row[o] - target(o);
          loss += error * error / outputs;
          if (d) d[o] = float(2 * error / (divisor * outputs));
        }
        break;
    }
    return loss;
  }

  LossSpec s_;
};

class ReferenceUpdate final : public UpdateKernel {
 public:
  explicit ReferenceUpdate(const UpdateSpec& spec) : s_(spec) {}

  void run(std::span<float> weights, std::span<const float> gradients,
           std::span<const std::span<float>> state, int64_t step, float lr, float scale) override {
    const double bias1 = 1 - std::pow(double(s_.beta1), double(step));
    const double bias2 = 1 - std::pow(double(s_.beta2), double(step));
    for (size_t i = 0; i < weights.size(); ++i) {
      double w = weights[i], g = double(gradients[i]) * scale;
      if (s_.kind == UpdateKind::adamw)
        w -= double(lr) * s_.weight_decay * w;
      else
        g += s_.weight_decay * w;
      switch (s_.kind) {
        case UpdateKind::sgd:
          w -= lr * g;
          break;
        case UpdateKind::momentum:
        case UpdateKind::nesterov: {
          const double velocity = s_.momentum * state[0][i] + g;
          state[0][i] = float(velocity);
          w -= lr * (s_.kind == UpdateKind::nesterov ? g + s_.momentum * velocity : velocity);
          break;
        }
        case UpdateKind::adagrad: {
          const double squares = state[0][i] + g * g;
          state[0][i] = float(squares);
          w -= lr * g / (std::sqrt(squares) + s_.epsilon);
          break;
        }
        case UpdateKind::adam:
        case UpdateKind::adamw: {
          const double m = s_.beta1 * state[0][i] + (1 - double(s_.beta1)) * g;
          const double v = s_.beta2 * state[1][i] + (1 - double(s_.beta2)) * g * g;
          state[0][i] = float(m);
          state[1][i] = float(v);
          w -= lr / bias1 * m / (std::sqrt(v / bias2) + s_.epsilon);
          break;
        }
      }
      weights[i] = float(w);
    }
  }

 private:
  UpdateSpec s_;
};

}  // namespace

std::unique_ptr<LossKernel> ReferenceDevice::prepare(const LossSpec& spec) {
  return std::make_unique<ReferenceLoss>(spec);
}

std::unique_ptr<UpdateKernel> ReferenceDevice::prepare(const UpdateSpec& spec) {
  return std::make_unique<ReferenceUpdate>(spec);
}

}  // namespace lockstep
