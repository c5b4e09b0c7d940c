#include <cmath>

#include "tensor/device/cpu/cpu_device.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/update.cpp"
#include <hwy/foreach_target.h>
//
#include "tensor/device/cpu/gemm/tile-inl.h"

#ifndef LOCKSTEP_UPDATE_FACTORS
#define LOCKSTEP_UPDATE_FACTORS
namespace lockstep {
// Factors that are the same for all weights, computed once per step.
struct UpdateFactors {
  UpdateKind kind;
  float scale;   // applied to the gradients
  float decay;   // added to the gradient as decay * w (all but adamw)
  float shrink;  // adamw: w *= shrink first
  float lr;      // adam: divided by the first bias correction
  float momentum;
  float beta1, beta2;
  float inverse_bias2;  // 1 / sqrt(second bias correction)
  float epsilon;
};
}  // namespace lockstep
#endif

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

HWY_INLINE Vec update_one(const UpdateFactors& f, Vec w, Vec g, Vec& s0, Vec& s1) {
  const Floats d;
  g = hn::Mul(g, hn::Set(d, f.scale));
  if (f.decay != 0) g = hn::MulAdd(hn::Set(d, f.decay), w, g);
  const Vec lr = hn::Set(d, f.lr);
  switch (f.kind) {
    case UpdateKind::sgd:
      return hn::NegMulAdd(lr, g, w);
    case UpdateKind::momentum:
      s0 = hn::MulAdd(hn::Set(d, f.momentum), s0, g);
      return hn::NegMulAdd(lr, s0, w);
    case UpdateKind::nesterov:
      s0 = hn::MulAdd(hn::Set(d, f.momentum), s0, g);
      return hn::NegMulAdd(lr, hn::MulAdd(hn::Set(d, f.momentum), s0, g), w);
    case UpdateKind::adagrad:
      s0 = hn::MulAdd(g, g, s0);
      return hn::Sub(w, hn::Div(hn::Mul(lr, g), hn::Add(hn::Sqrt(s0), hn::Set(d, f.epsilon))));
    default: {
      w = hn::Mul(w, hn::Set(d, f.shrink));
      s0 = hn::MulAdd(hn::Set(d, f.beta1), s0, hn::Mul(hn::Set(d, 1 - f.beta1), g));
      s1 = hn::MulAdd(hn::Set(d, f.beta2), s1, hn::Mul(hn::Set(d, 1 - f.beta2), hn::Mul(g, g)));
      const Vec root = hn::MulAdd(hn::Sqrt(s1), hn::Set(d, f.inverse_bias2), hn::Set(d, f.epsilon));
      return hn::Sub(w, hn::Div(hn::Mul(lr, s0), root));
    }
  }
}

void update_range(const UpdateFactors& f, float* HWY_RESTRICT w, const float* HWY_RESTRICT g,
                  float* HWY_RESTRICT s0, float* HWY_RESTRICT s1, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += lanes()) {
    const int64_t left = end - i;
    Vec a = s0 ? load_part(s0 + i, left) : hn::Zero(Floats());
    Vec b = s1 ? load_part(s1 + i, left) : hn::Zero(Floats());
    store_part(update_one(f, load_part(w + i, left), load_part(g + i, left), a, b), w + i, left);
    if (s0) store_part(a, s0 + i, left);
    if (s1) store_part(b, s1 + i, left);
  }
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(update_range);

namespace {

class CpuUpdate final : public UpdateKernel {
 public:
  CpuUpdate(const UpdateSpec& spec, ThreadPool& pool) : s_(spec), pool_(pool) {}

  void run(std::span<float> weights, std::span<const float> gradients,
           std::span<const std::span<float>> state, int64_t step, float lr, float scale) override {
    const bool adamw = s_.kind == UpdateKind::adamw;
    const bool adam = adamw || s_.kind == UpdateKind::adam;
    const double bias1 = 1 - std::pow(double(s_.beta1), double(step));
    const double bias2 = 1 - std::pow(double(s_.beta2), double(step));
    const UpdateFactors factors{.kind = s_.kind,
                                .scale = scale,
                                .decay = adamw ? 0 : s_.weight_decay,
                                .shrink = adamw ? 1 - lr * s_.weight_decay : 1,
                                .lr = adam ? static_cast<float>(lr / bias1) : lr,
                                .momentum = s_.momentum,
                                .beta1 = s_.beta1,
                                .beta2 = s_.beta2,
                                .inverse_bias2 = static_cast<float>(1 / std::sqrt(bias2)),
                                .epsilon = s_.epsilon};
    float* s0 = !state.empty() ? state[0].data() : nullptr;
    float* s1 = state.size() > 1 ? state[1].data() : nullptr;
    pool_.split(static_cast<int64_t>(weights.size()), 1024, [&](int64_t begin, int64_t end, int) {
      HWY_DYNAMIC_DISPATCH(update_range)
      (factors, weights.data(), gradients.data(), s0, s1, begin, end);
    });
  }

 private:
  UpdateSpec s_;
  ThreadPool& pool_;
};

}  // namespace

std::unique_ptr<UpdateKernel> CpuDevice::prepare(const UpdateSpec& spec) {
  return std::make_unique<CpuUpdate>(spec, pool_);
}

}  // namespace lockstep
#endif
