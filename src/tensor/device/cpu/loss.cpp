#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/cpu/loss_rows.h"

namespace lockstep {
namespace {

// Softmax with labels and sigmoid rows run in vectors (loss_rows.h), the rest in plain loops. Rows
// are summed in double.
class CpuLoss final : public LossKernel {
 public:
  CpuLoss(const LossSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}

  LossSums run(int64_t samples, const float* y, const Targets& targets, float* dy,
               int64_t divisor) override {
    const bool by_label = s_.kind == LossKind::softmax_cross_entropy && targets.values.empty();
    const int64_t rows = samples * s_.positions;
    LossSums sums = by_label ? softmax_rows(rows, y, targets, dy, divisor * s_.positions)
                             : each_row(rows, y, targets, dy, divisor * s_.positions);
    sums.loss /= static_cast<double>(s_.positions);
    return sums;
  }

 private:
  // Blocks of fixed size: the order of the sum does not depend on the number of threads.
  LossSums softmax_rows(int64_t rows, const float* y, const Targets& targets, float* dy,
                        int64_t divisor) {
    const float scale = 1.0f / static_cast<float>(divisor);
    const int64_t block = s_.outputs < 1024 ? 1024 : 8;
    std::vector<LossSums> parts(static_cast<size_t>((rows + block - 1) / block));
    pool_.split(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * block * s_.outputs;
        parts[static_cast<size_t>(i)] = softmax_loss(std::min(block, rows - i * block), y + at,
                                                     targets.labels.data() + i * block,
                                                     dy ? dy + at : nullptr, scale, s_.outputs);
      }
    });
    LossSums sums;
    for (const LossSums& part : parts) {
      sums.loss += part.loss;
      sums.correct += part.correct;
    }
    return sums;
  }

  LossSums each_row(int64_t rows, const float* y, const Targets& targets, float* dy,
                    int64_t divisor) {
    LossSums sums;
    for (int64_t n = 0; n < rows; ++n, y += s_.outputs) {
      const float* largest = std::max_element(y, y + s_.outputs);
      const Row row{y, dy ? dy + n * s_.outputs : nullptr, targets, n, s_.outputs};
      if (row.target(largest - y) > 0.5f) ++sums.correct;
      switch (s_.kind) {
        case LossKind::softmax_cross_entropy:
          sums.loss += softmax_row(row, *largest, divisor);
          break;
        case LossKind::sigmoid_cross_entropy:
          sums.loss += sigmoid_row(row, divisor);
          break;
        case LossKind::mean_squared_error:
          sums.loss += square_row(row, divisor);
          break;
      }
    }
    return sums;
  }

  struct Row {
    const float* y;
    float* dy;
    const Targets& targets;
    int64_t n, outputs;

    float target(int64_t o) const {
      if (targets.values.empty()) return targets.labels[static_cast<size_t>(n)] == o ? 1.0f : 0.0f;
      return targets.values[static_cast<size_t>(n * outputs + o)];
    }
  };

  // dy holds the exponentials until their sum is known.
  static double softmax_row(const Row& r, float largest, int64_t divisor) {
    double sum = 0, loss = 0;
    for (int64_t o = 0; o < r.outputs; ++o) {
      const float power = std::exp(r.y[o] - largest);
      sum += power;
      if (r.dy) r.dy[o] = power;
    }
    const double log_sum = std::log(sum) + largest;
    const float share = static_cast<float>(1 / sum), scale = 1.0f / static_cast<float>(divisor);
    for (int64_t o = 0; o < r.outputs; ++o) {
      const float target = r.target(o);
      if (target != 0) loss += target * (log_sum - r.y[o]);
      if (r.dy) r.dy[o] = (r.dy[o] * share - target) * scale;
    }
    return loss;
  }

  double sigmoid_row(const Row& r, int64_t divisor) {
    const float* targets = nullptr;
    if (r.targets.values.empty()) {
      one_hot_.assign(static_cast<size_t>(r.outputs), 0.0f);
      one_hot_[static_cast<size_t>(r.targets.labels[static_cast<size_t>(r.n)])] = 1;
      targets = one_hot_.data();
    } else {
      targets = r.targets.values.data() + r.n * r.outputs;
    }
    return sigmoid_loss(r.y, targets, r.dy, 1.0f / static_cast<float>(divisor * r.outputs),
                        r.outputs) /
           static_cast<double>(r.outputs);
  }

  static double square_row(const Row& r, int64_t divisor) {
    const float scale = 2.0f / static_cast<float>(divisor * r.outputs);
    double loss = 0;
    for (int64_t o = 0; o < r.outputs; ++o) {
      const float error = r.y[o] - r.target(o);
      loss += double(error) * error;
      if (r.dy) r.dy[o] = error * scale;
    }
    return loss / static_cast<double>(r.outputs);
  }

  LossSpec s_;
  ThreadPool& pool_;
  std::vector<float> one_hot_;
};

}  // namespace

std::unique_ptr<LossKernel> CpuDevice::prepare(const LossSpec& spec) {
  return std::make_unique<CpuLoss>(spec, pool_);
}

}  // namespace lockstep
