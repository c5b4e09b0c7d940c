#include <algorithm>
#include <cmath>

#include "tensor/device/reference/reference_device.h"
#include "tensor/dropout_mask.h"

namespace lockstep {
namespace {

constexpr double gelu_scale = 0.7978845608028654;  // sqrt(2 / pi): the tanh form, as in GPT-2

double activate(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::relu:
      return std::max(x, 0.0);
    case ActivationKind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationKind::tanh:
      return std::tanh(x);
    case ActivationKind::gelu:
      return 0.5 * x * (1 + std::tanh(gelu_scale * (x + 0.044715 * x * x * x)));
    case ActivationKind::softmax:
      break;
  }
  return x;
}

double slope(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::relu:
      return x > 0 ? 1 : 0;
    case ActivationKind::sigmoid: {
      const double y = activate(kind, x);
      return y * (1 - y);
    }
    case ActivationKind::tanh: {
      const double y = std::tanh(x);
      return 1 - y * y;
    }
    case ActivationKind::gelu: {
      const double t = std::tanh(gelu_scale * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * gelu_scale * (1 + 3 * 0.044715 * x * x);
    }
    case ActivationKind::softmax:
      break;
  }
  return 1;
}

class ReferenceActivation final : public Kernel {
 public:
  explicit ReferenceActivation(const ActivationSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& p) override {
    const int64_t count = p.rows * s_.elements;
    if (s_.kind != ActivationKind::softmax) {
      for (int64_t i = 0; i < count; ++i) p.y[i] = float(activate(s_.kind, p.x[i]));
      return;
    }
    for (int64_t first = 0; first < count; first += s_.width) {
      const float* x = p.x + first;
      const double largest = *std::max_element(x, x + s_.width);
      double sum = 0;
      for (int64_t i = 0; i < s_.width; ++i) sum += std::exp(x[i] - largest);
      for (int64_t i = 0; i < s_.width; ++i) p.y[first + i] = float(std::exp(x[i] - largest) / sum);
    }
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    const int64_t count = p.rows * s_.elements;
    if (s_.kind != ActivationKind::softmax) {
      for (int64_t i = 0; i < count; ++i) p.dx[i] = float(p.dy[i] * slope(s_.kind, p.x[i]));
      return;
    }
    for (int64_t first = 0; first < count; first += s_.width) {
      double dot = 0;
      for (int64_t i = first; i < first + s_.width; ++i) dot += double(p.dy[i]) * p.y[i];
      for (int64_t i = first; i < first + s_.width; ++i) p.dx[i] = float(p.y[i] * (p.dy[i] - dot));
    }
  }

 private:
  ActivationSpec s_;
};

class ReferenceDropout final : public Kernel {
 public:
  explicit ReferenceDropout(const DropoutSpec& spec) : s_(spec) {}
  const char* name() const override { return "reference"; }

  void forward(const Pass& p) override { apply(p, p.x, p.y); }
  void backward(const Pass& p) override {
    if (p.dx) apply(p, p.dy, p.dx);
  }

 private:
  void apply(const Pass& p, const float* from, float* to) const {
    if (!p.training) {
      std::copy_n(from, p.rows * s_.elements, to);
      return;
    }
    for (int64_t n = 0; n < p.rows; ++n) {
      const DropoutMask mask(s_, p.keys, n);
      for (int64_t i = 0; i < s_.elements; ++i) {
        const int64_t at = n * s_.elements + i;
        to[at] = mask.keeps(i) ? from[at] * mask.scale() : 0;
      }
    }
  }

  DropoutSpec s_;
};

}  // namespace

std::unique_ptr<Kernel> ReferenceDevice::make(const ActivationSpec& spec) {
  return std::make_unique<ReferenceActivation>(spec);
}

std::unique_ptr<Kernel> ReferenceDevice::make(const DropoutSpec& spec) {
  return std::make_unique<ReferenceDropout>(spec);
}

void ReferenceDevice::add_scaled(std::span<float> into, std::span<const float> from, float factor) {
  for (size_t i = 0; i < into.size(); ++i)
    into[i] = static_cast<float>(into[i] + double(factor) * from[i]);
}

void ReferenceDevice::dot_products(std::span<const float> a, std::span<const float> b,
                                   std::span<const size_t> ends, std::span<double> sums) {
  for (size_t tensor = 0, at = 0; tensor < ends.size(); ++tensor) {
    sums[tensor] = 0;
    for (; at < ends[tensor]; ++at) sums[tensor] += double(a[at]) * b[at];
  }
}

}  // namespace lockstep
