#include "tensor/device/cpu/loss_sigmoid.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/loss_sigmoid.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>

#include "tensor/device/cpu/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

double sigmoid_row(const float* z, const float* target, float* dz, float scale, int64_t outputs) {
  const Floats d;
  const Vec one = hn::Set(d, 1.0f);
  Vec sum = hn::Zero(d);
  for (int64_t o = 0; o < outputs; o += lanes()) {
    const int64_t left = outputs - o;
    const Vec x = load_part(z + o, left), t = load_part(target + o, left);
    const Vec power = hn::Exp(d, hn::Neg(hn::Abs(x)));  // never overflows
    Vec loss = hn::Add(hn::NegMulAdd(x, t, hn::Max(x, hn::Zero(d))), hn::Log1p(d, power));
    if (left < lanes()) loss = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), loss);
    sum = hn::Add(sum, loss);
    if (!dz) continue;
    const Vec share =
        hn::Div(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), power, one), hn::Add(one, power));
    store_part(hn::Mul(hn::Sub(share, t), hn::Set(d, scale)), dz + o, left);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(sigmoid_row);

double sigmoid_loss(const float* z, const float* target, float* dz, float scale, int64_t outputs) {
  return HWY_DYNAMIC_DISPATCH(sigmoid_row)(z, target, dz, scale, outputs);
}

}  // namespace lockstep
#endif
