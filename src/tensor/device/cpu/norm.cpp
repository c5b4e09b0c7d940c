#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/device/cpu/cpu_device.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/norm.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

// Channels are contiguous in memory, so vectors run over channels.

// Per channel of one sample: the sums of x - origin and of its square. An origin near the mean
// avoids cancellation in the variance.
void moment_sums(const NormSpec& s, const float* x, const float* origin, float* sum,
                 float* squares) {
  const Floats d;
  for (int64_t c = 0; c < s.channels; c += lanes()) {
    const int64_t left = s.channels - c;
    const Vec shift = load_part(origin + c, left);
    Vec a = hn::Zero(d), b = hn::Zero(d);
    for (int64_t i = 0; i < s.positions; ++i) {
      const Vec value = hn::Sub(load_part(x + i * s.channels + c, left), shift);
      a = hn::Add(a, value);
      b = hn::MulAdd(value, value, b);
    }
    store_part(a, sum + c, left);
    store_part(b, squares + c, left);
  }
}

// y = relu(x * factor + offset)
void scale_shift(const NormSpec& s, const float* x, const float* factor, const float* offset,
                 float* y) {
  const Floats d;
  const Vec floor = hn::Set(d, s.relu ? 0.0f : -INFINITY);
  for (int64_t i = 0; i < s.positions; ++i, x += s.channels, y += s.channels)
    for (int64_t c = 0; c < s.channels; c += lanes()) {
      const int64_t left = s.channels - c;
      const Vec value = hn::MulAdd(load_part(x + c, left), load_part(factor + c, left),
                                   load_part(offset + c, left));
      store_part(hn::Max(value, floor), y + c, left);
    }
}

HWY_INLINE Vec live_gradient(const NormSpec& s, const float* dy, const float* y, int64_t left) {
  const Vec g = load_part(dy, left);
  if (!s.relu) return g;
  return hn::IfThenElseZero(hn::Gt(load_part(y, left), hn::Zero(Floats())), g);
}

// Per channel of one sample: the sums of dy and of dy * (x - mean).
void gradient_sums(const NormSpec& s, const float* x, const float* y, const float* dy,
                   const float* mean, float* sum, float* dot) {
  const Floats d;
  for (int64_t c = 0; c < s.channels; c += lanes()) {
    const int64_t left = s.channels - c;
    const Vec middle = load_part(mean + c, left);
    Vec a = hn::Zero(d), b = hn::Zero(d);
    for (int64_t i = 0; i < s.positions; ++i) {
      const int64_t at = i * s.channels + c;
      const Vec g = live_gradient(s, dy + at, y + at, left);
      a = hn::Add(a, g);
      b = hn::MulAdd(g, hn::Sub(load_part(x + at, left), middle), b);
    }
    store_part(a, sum + c, left);
    store_part(b, dot + c, left);
  }
}

// dx = dy * factor + x * slope + offset
void gradient_input(const NormSpec& s, const float* x, const float* y, const float* dy,
                    const float* factor, const float* slope, const float* offset, float* dx) {
  for (int64_t i = 0; i < s.positions; ++i)
    for (int64_t c = 0; c < s.channels; c += lanes()) {
      const int64_t left = s.channels - c, at = i * s.channels + c;
      const Vec linear = hn::MulAdd(load_part(x + at, left), load_part(slope + c, left),
                                    load_part(offset + c, left));
      const Vec g = live_gradient(s, dy + at, y + at, left);
      store_part(hn::MulAdd(g, load_part(factor + c, left), linear), dx + at, left);
    }
}

// One row of layer normalisation; kept: its mean and 1 / deviation.
void normalise_row(const NormSpec& s, const float* x, const float* scale, const float* shift,
                   float* y, float* kept) {
  const Floats d;
  const auto count = static_cast<float>(s.channels);
  Vec sum = hn::Zero(d);
  for (int64_t c = 0; c < s.channels; c += lanes())
    sum = hn::Add(sum, load_part(x + c, s.channels - c));
  const Vec near = hn::Set(d, hn::GetLane(hn::SumOfLanes(d, sum)) / count);
  Vec rest = hn::Zero(d), squares = hn::Zero(d);  // relative to the rounded mean
  for (int64_t c = 0; c < s.channels; c += lanes()) {
    const int64_t left = s.channels - c;
    Vec value = hn::Sub(load_part(x + c, left), near);
    if (left < lanes()) value = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), value);
    rest = hn::Add(rest, value);
    squares = hn::MulAdd(value, value, squares);
  }
  const float moved = hn::GetLane(hn::SumOfLanes(d, rest)) / count;
  const float variance = hn::GetLane(hn::SumOfLanes(d, squares)) / count - moved * moved;
  kept[0] = hn::GetLane(near) + moved;
  kept[1] = 1.0f / std::sqrt(std::max(variance, 0.0f) + s.epsilon);
  const Vec mean = hn::Set(d, kept[0]), inverse = hn::Set(d, kept[1]);
  const Vec floor = hn::Set(d, s.relu ? 0.0f : -INFINITY);
  for (int64_t c = 0; c < s.channels; c += lanes()) {
    const int64_t left = s.channels - c;
    const Vec even = hn::Mul(hn::Sub(load_part(x + c, left), mean), inverse);
    const Vec value = hn::MulAdd(even, load_part(scale + c, left), load_part(shift + c, left));
    store_part(hn::Max(value, floor), y + c, left);
  }
}

void normalise_row_back(const NormSpec& s, const float* x, const float* dy, const float* scale,
                        const float* kept, float* dx) {
  const Floats d;
  const Vec mean = hn::Set(d, kept[0]), inverse = hn::Set(d, kept[1]);
  const auto even = [&](int64_t c, int64_t left) {
    return hn::Mul(hn::Sub(load_part(x + c, left), mean), inverse);
  };
  Vec sum = hn::Zero(d), dot = hn::Zero(d);
  for (int64_t c = 0; c < s.channels; c += lanes()) {
    const int64_t left = s.channels - c;
    const Vec g = hn::Mul(load_part(dy + c, left), load_part(scale + c, left));
    sum = hn::Add(sum, g);
    dot = hn::MulAdd(g, even(c, left), dot);
  }
  const Vec share = hn::Set(d, 1.0f / static_cast<float>(s.channels));
  const Vec mean_g = hn::Mul(hn::SumOfLanes(d, sum), share);
  const Vec mean_dot = hn::Mul(hn::SumOfLanes(d, dot), share);
  for (int64_t c = 0; c < s.channels; c += lanes()) {
    const int64_t left = s.channels - c;
    const Vec g = hn::Mul(load_part(dy + c, left), load_part(scale + c, left));
    const Vec rest = hn::NegMulAdd(even(c, left), mean_dot, hn::Sub(g, mean_g));
    store_part(hn::Mul(rest, inverse), dx + c, left);
  }
}

// The gradients of scale and shift for columns begin up to end, summed over rows.
void normalise_sums(const NormSpec& s, const float* x, const float* dy, const float* kept,
                    int64_t rows, int64_t begin, int64_t end, bool accumulate, float* d_scale,
                    float* d_shift) {
  const Floats d;
  for (int64_t c = begin; c < end; c += 2 * lanes()) {
    const int64_t left = end - c, right = std::max<int64_t>(0, left - lanes());
    Vec scale0 = hn::Zero(d), scale1 = hn::Zero(d), shift0 = hn::Zero(d), shift1 = hn::Zero(d);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t at = row * s.channels + c;
      const Vec mean = hn::Set(d, kept[2 * row]), inverse = hn::Set(d, kept[2 * row + 1]);
      const Vec g0 = load_part(dy + at, left);
      shift0 = hn::Add(shift0, g0);
      scale0 = hn::MulAdd(g0, hn::Mul(hn::Sub(load_part(x + at, left), mean), inverse), scale0);
      if (right == 0) continue;
      const Vec g1 = load_part(dy + at + lanes(), right);
      shift1 = hn::Add(shift1, g1);
      scale1 = hn::MulAdd(g1, hn::Mul(hn::Sub(load_part(x + at + lanes(), right), mean), inverse),
                          scale1);
    }
    const auto put = [&](Vec value, float* to, int64_t count) {
      if (count <= 0) return;
      store_part(accumulate ? hn::Add(load_part(to, count), value) : value, to, count);
    };
    put(scale0, d_scale + c, left), put(scale1, d_scale + c + lanes(), right);
    put(shift0, d_shift + c, left), put(shift1, d_shift + c + lanes(), right);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(moment_sums);
HWY_EXPORT(scale_shift);
HWY_EXPORT(gradient_sums);
HWY_EXPORT(gradient_input);
HWY_EXPORT(normalise_row);
HWY_EXPORT(normalise_row_back);
HWY_EXPORT(normalise_sums);

namespace {

// Sums are taken per sample in float, then over samples in double and in order: the result does
// not depend on the number of threads.
class CpuBatchNorm final : public Kernel {
 public:
  CpuBatchNorm(const NormSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "vector"; }

  KernelNeeds needs() const override {
    return {.stash = static_cast<size_t>(2 * pitch()) * sizeof(float),  // mean, 1 / deviation
            .scratch = static_cast<size_t>((2 * s_.batch + 3) * pitch()) * sizeof(float)};
  }

  void forward(const Pass& p) override {
    float* mean = reinterpret_cast<float*>(p.stash);
    float* inverse = mean + pitch();
    if (p.training)
      measure(p, mean, inverse);
    else
      for (int64_t c = 0; c < s_.channels; ++c) {
        mean[c] = p.state[c];
        inverse[c] = 1 / std::sqrt(p.state[pitch() + c] + s_.epsilon);
      }
    float* factor = reinterpret_cast<float*>(p.scratch);
    float* offset = factor + pitch();
    for (int64_t c = 0; c < s_.channels; ++c) {
      factor[c] = p.weights[c] * inverse[c];
      offset[c] = p.weights[pitch() + c] - mean[c] * factor[c];
    }
    for_each_sample(p, [&](int64_t n, int64_t at) {
      static_cast<void>(n);
      HWY_DYNAMIC_DISPATCH(scale_shift)(s_, p.x + at, factor, offset, p.y + at);
    });
  }

  void backward(const Pass& p) override {
    const float* mean = reinterpret_cast<const float*>(p.stash);
    const float* inverse = mean + pitch();
    float* factor = reinterpret_cast<float*>(p.scratch);
    float* slope = factor + pitch();
    float* offset = slope + pitch();
    float* partial = offset + pitch();
    for_each_sample(p, [&](int64_t n, int64_t at) {
      float* sums = partial + 2 * n * pitch();
      HWY_DYNAMIC_DISPATCH(gradient_sums)
      (s_, p.x + at, p.y + at, p.dy + at, mean, sums, sums + pitch());
    });
    const double count = static_cast<double>(p.rows * s_.positions);
    for (int64_t c = 0; c < s_.channels; ++c) {
      const double sum = over_samples(partial + c, p.rows);
      const double dot = over_samples(partial + pitch() + c, p.rows) * inverse[c];  // dy * xhat
      put(p, c, dot);
      put(p, pitch() + c, sum);
      // dx = scale / deviation * (dy - sum/count - xhat * dot/count)
      factor[c] = p.weights[c] * inverse[c];
      const double bend = -factor[c] * inverse[c] * dot / count;
      slope[c] = static_cast<float>(bend);
      offset[c] = static_cast<float>(-factor[c] * sum / count - bend * mean[c]);
    }
    if (!p.dx) return;
    for_each_sample(p, [&](int64_t n, int64_t at) {
      static_cast<void>(n);
      HWY_DYNAMIC_DISPATCH(gradient_input)
      (s_, p.x + at, p.y + at, p.dy + at, factor, slope, offset, p.dx + at);
    });
  }

 private:
  int64_t pitch() const { return aligned_floats(s_.channels); }

  void measure(const Pass& p, float* mean, float* inverse) {
    float* partial = reinterpret_cast<float*>(p.scratch);
    const float* origin = p.x;  // the first position of the first sample
    for_each_sample(p, [&](int64_t n, int64_t at) {
      float* sums = partial + 2 * n * pitch();
      HWY_DYNAMIC_DISPATCH(moment_sums)(s_, p.x + at, origin, sums, sums + pitch());
    });
    const double count = static_cast<double>(p.rows * s_.positions);
    for (int64_t c = 0; c < s_.channels; ++c) {
      const double shifted = over_samples(partial + c, p.rows) / count;
      const double squares = over_samples(partial + pitch() + c, p.rows) / count;
      const double variance = std::max(0.0, squares - shifted * shifted);
      mean[c] = static_cast<float>(origin[c] + shifted);
      inverse[c] = static_cast<float>(1 / std::sqrt(variance + s_.epsilon));
      const double unbiased = variance * count / std::max(1.0, count - 1);
      p.state[c] += s_.momentum * (mean[c] - p.state[c]);
      float& running = p.state[pitch() + c];
      running += s_.momentum * (static_cast<float>(unbiased) - running);
    }
  }

  template <typename Use>
  void for_each_sample(const Pass& p, Use use) {
    pool_.split(p.rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t n = begin; n < end; ++n) use(n, n * s_.positions * s_.channels);
    });
  }

  double over_samples(const float* first, int64_t rows) const {
    double sum = 0;
    for (int64_t n = 0; n < rows; ++n) sum += first[2 * n * pitch()];
    return sum;
  }

  void put(const Pass& p, int64_t at, double value) const {
    p.gradients[at] = static_cast<float>((p.accumulate ? p.gradients[at] : 0) + value);
  }

  NormSpec s_;
  ThreadPool& pool_;
};

// One row of channels at a time; mean and 1 / deviation of each are kept for backward.
class CpuLayerNorm final : public Kernel {
 public:
  CpuLayerNorm(const NormSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}
  const char* name() const override { return "rows"; }

  KernelNeeds needs() const override {
    return {.stash = static_cast<size_t>(2 * s_.batch * s_.positions) * sizeof(float)};
  }

  void forward(const Pass& p) override {
    const float* scale = p.weights;
    const float* shift = p.weights + aligned_floats(s_.channels);
    float* kept = reinterpret_cast<float*>(p.stash);
    pool_.split(p.rows * s_.positions, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) HWY_DYNAMIC_DISPATCH(normalise_row)
      (s_, p.x + row * s_.channels, scale, shift, p.y + row * s_.channels, kept + 2 * row);
    });
  }

  void backward(const Pass& p) override {
    const float* kept = reinterpret_cast<const float*>(p.stash);
    const int64_t rows = p.rows * s_.positions, count = rows * s_.channels;
    if (s_.relu)
      for (int64_t i = 0; i < count; ++i)
        if (p.y[i] <= 0) p.dy[i] = 0;
    float* d_scale = p.gradients;
    float* d_shift = p.gradients + aligned_floats(s_.channels);
    pool_.split(s_.channels, 16, [&](int64_t begin, int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(normalise_sums)
      (s_, p.x, p.dy, kept, rows, begin, end, p.accumulate, d_scale, d_shift);
    });
    if (!p.dx) return;
    pool_.split(rows, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t at = row * s_.channels;
        HWY_DYNAMIC_DISPATCH(normalise_row_back)
        (s_, p.x + at, p.dy + at, p.weights, kept + 2 * row, p.dx + at);
      }
    });
  }

 private:
  NormSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<Kernel> CpuDevice::make(const NormSpec& spec) {
  if (spec.kind == NormKind::batch) return std::make_unique<CpuBatchNorm>(spec, pool_);
  return std::make_unique<CpuLayerNorm>(spec, pool_);
}

}  // namespace lockstep
#endif
