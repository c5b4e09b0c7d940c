#include "tensor/device/cpu/cpu_device.h"
#include "tensor/device/cpu/vector_ops.h"
#include "tensor/dropout_mask.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/elementwise.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>

#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

HWY_INLINE Vec set(float value) { return hn::Set(Floats(), value); }

// Highway's Exp is not finite for large arguments; beyond 85 the sigmoid is below 2e-37 anyway.
HWY_INLINE Vec sigmoid(Vec x) {
  return hn::Div(set(1), hn::Add(set(1), hn::Exp(Floats(), hn::Min(hn::Neg(x), set(85)))));
}

// gelu's (1 + tanh(u)) / 2 for u = sqrt(2/pi) (x + 0.044715 x^3), which is sigmoid(2 u)
HWY_INLINE Vec gelu_share(Vec x) {
  const Vec cubic = hn::MulAdd(set(0.044715f), hn::Mul(x, x), set(1));
  return sigmoid(hn::Mul(hn::Mul(set(2 * 0.7978845608f), x), cubic));
}

HWY_INLINE Vec activated(ActivationKind kind, Vec x) {
  switch (kind) {
    case ActivationKind::sigmoid:
      return sigmoid(x);
    case ActivationKind::tanh:
      return hn::Tanh(Floats(), x);
    case ActivationKind::gelu:
      return hn::Mul(x, gelu_share(x));
    default:
      return hn::Max(x, hn::Zero(Floats()));
  }
}

HWY_INLINE Vec slope(ActivationKind kind, Vec x, Vec y) {
  switch (kind) {
    case ActivationKind::sigmoid:
      return hn::Mul(y, hn::Sub(set(1), y));
    case ActivationKind::tanh:
      return hn::NegMulAdd(y, y, set(1));
    case ActivationKind::gelu: {
      const Vec share = gelu_share(x);
      const Vec inner =
          hn::Mul(set(2 * 0.7978845608f), hn::MulAdd(hn::Mul(set(3 * 0.044715f), x), x, set(1)));
      const Vec bend = hn::Mul(hn::Mul(x, hn::NegMulAdd(share, share, share)), inner);
      return hn::Add(share, bend);
    }
    default:
      return hn::IfThenElseZero(hn::Gt(y, hn::Zero(Floats())), set(1));
  }
}

void activate(ActivationKind kind, const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += lanes())
    store_part(activated(kind, load_part(x + i, count - i)), y + i, count - i);
}

void activate_back(ActivationKind kind, const float* x, const float* y, const float* dy, float* dx,
                   int64_t count) {
  for (int64_t i = 0; i < count; i += lanes()) {
    const int64_t left = count - i;
    const Vec bend = slope(kind, load_part(x + i, left), load_part(y + i, left));
    store_part(hn::Mul(load_part(dy + i, left), bend), dx + i, left);
  }
}

// Rows of `width`: y = exp(x - max) / sum
void softmax(const float* x, float* y, int64_t rows, int64_t width) {
  const Floats d;
  for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
    const Vec largest = set(*std::max_element(x, x + width));
    Vec sums = hn::Zero(d);
    for (int64_t i = 0; i < width; i += lanes()) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(std::min(lanes(), width - i)));
      const Vec e = hn::Exp(d, hn::Sub(load_part(x + i, width - i), largest));
      sums = hn::Add(sums, hn::IfThenElseZero(mask, e));
      store_part(e, y + i, width - i);
    }
    const float share = 1.0f / hn::GetLane(hn::SumOfLanes(d, sums));
    for (int64_t i = 0; i < width; ++i) y[i] *= share;
  }
}

void softmax_back(const float* y, const float* dy, float* dx, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row, y += width, dy += width, dx += width) {
    float dot = 0;
    for (int64_t i = 0; i < width; ++i) dot += dy[i] * y[i];
    for (int64_t i = 0; i < width; ++i) dx[i] = y[i] * (dy[i] - dot);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(activate);
HWY_EXPORT(activate_back);
HWY_EXPORT(softmax);
HWY_EXPORT(softmax_back);

namespace {

class CpuActivation final : public Kernel {
 public:
  CpuActivation(const ActivationSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "vector"; }

  void forward(const Pass& p) override {
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      const int64_t first = begin * s_.elements, count = (end - begin) * s_.elements;
      if (s_.kind == ActivationKind::softmax)
        HWY_DYNAMIC_DISPATCH(softmax)(p.x + first, p.y + first, count / s_.width, s_.width);
      else
        HWY_DYNAMIC_DISPATCH(activate)(s_.kind, p.x + first, p.y + first, count);
    });
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      const int64_t at = begin * s_.elements, count = (end - begin) * s_.elements;
      if (s_.kind == ActivationKind::softmax) HWY_DYNAMIC_DISPATCH(softmax_back)
      (p.y + at, p.dy + at, p.dx + at, count / s_.width, s_.width);
      else HWY_DYNAMIC_DISPATCH(activate_back)(s_.kind, p.x + at, p.y + at, p.dy + at, p.dx + at,
                                               count);
    });
  }

 private:
  ActivationSpec s_;
  ThreadPool& pool_;
};

class CpuDropout final : public Kernel {
 public:
  CpuDropout(const DropoutSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "counter"; }

  // Keeps the factors of the batch, so that backward need not draw them again.
  KernelNeeds needs() const override {
    return {.stash = static_cast<size_t>(s_.batch * s_.elements) * sizeof(float)};
  }

  void forward(const Pass& p) override {
    if (!p.training) {
      std::copy(p.x, p.x + p.rows * s_.elements, p.y);
      return;
    }
    float* factors = reinterpret_cast<float*>(p.stash);
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) {
        float* factor = factors + n * s_.elements;
        DropoutMask(s_, p.keys, n).for_each(0, s_.elements, [&](int64_t i, float f) {
          factor[i] = f;
        });
      }
      multiply(p.x, factors, p.y, begin, end);
    });
  }

  void backward(const Pass& p) override {
    if (!p.dx) return;
    const float* factors = reinterpret_cast<const float*>(p.stash);
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      multiply(p.dy, factors, p.dx, begin, end);
    });
  }

 private:
  void multiply(const float* a, const float* b, float* to, int64_t begin, int64_t end) const {
    for (int64_t i = begin * s_.elements; i < end * s_.elements; ++i) to[i] = a[i] * b[i];
  }

  DropoutSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Kernel> CpuDevice::make(const ActivationSpec& spec) {
  return std::make_unique<CpuActivation>(spec, pool_);
}

std::unique_ptr<Kernel> CpuDevice::make(const DropoutSpec& spec) {
  return std::make_unique<CpuDropout>(spec, pool_);
}

}  // namespace lockstep
#endif
