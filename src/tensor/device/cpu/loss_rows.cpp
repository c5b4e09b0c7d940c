#include "tensor/device/cpu/loss_rows.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/loss_rows.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/contrib/math/math-inl.h>

#include "tensor/device/cpu/gemm/tile-inl.h"

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

// Lanes beyond the row get the value `otherwise`.
HWY_INLINE Vec load_or(const float* from, int64_t left, float otherwise) {
  const Floats d;
  if (left >= lanes()) return hn::LoadU(d, from);
  const auto there = hn::FirstN(d, static_cast<size_t>(left));
  return hn::IfThenElse(there, load_first(d, from, left), hn::Set(d, otherwise));
}

HWY_INLINE double softmax_row(const float* y, int64_t label, float* dy, float scale,
                              int64_t outputs, bool& correct) {
  const Floats d;
  constexpr float low = -3.0e38f;
  Vec most = hn::Set(d, low);
  for (int64_t o = 0; o < outputs; o += lanes())
    most = hn::Max(most, load_or(y + o, outputs - o, low));
  most = hn::MaxOfLanes(d, most);
  const float largest = hn::GetLane(most);
  Vec sum = hn::Zero(d);
  for (int64_t o = 0; o < outputs; o += lanes()) {
    const int64_t left = outputs - o;
    Vec power = hn::Exp(d, hn::Sub(load_or(y + o, left, low), most));
    if (left < lanes()) power = hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(left)), power);
    sum = hn::Add(sum, power);
    if (dy) store_part(power, dy + o, left);
  }
  const float total = hn::GetLane(hn::SumOfLanes(d, sum));
  // Among equal outputs the first is the answer.
  correct = y[label] == largest && std::find(y, y + label, largest) == y + label;
  if (dy) {
    const Vec share = hn::Set(d, scale / total);
    for (int64_t o = 0; o < outputs; o += lanes())
      store_part(hn::Mul(load_part(dy + o, outputs - o), share), dy + o, outputs - o);
    dy[label] -= scale;
  }
  return std::log(double(total)) + largest - y[label];
}

// Up to one row per lane: with few outputs, a vector per row would be mostly empty.
template <int Outputs>
HWY_INLINE void softmax_narrow(int64_t rows, const float* y, const int32_t* labels, float* dy,
                               float scale, LossSums& sums) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  // Lanes beyond the last row repeat it.
  const auto row = hn::Min(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(rows - 1)));
  const auto first = hn::Mul(row, hn::Set(di, Outputs));
  const auto label = hn::GatherIndex(di, labels, row);
  Vec values[Outputs];
  Vec most = values[0] = hn::GatherIndex(d, y, first);
  for (int o = 1; o < Outputs; ++o)
    most = hn::Max(most, values[o] = hn::GatherIndex(d, y + o, first));
  Vec powers[Outputs], sum = hn::Zero(d), own = hn::Zero(d);
  auto answer = hn::Set(di, -1);  // the first among equal outputs
  for (int o = Outputs - 1; o >= 0; --o) {
    answer = hn::IfThenElse(hn::RebindMask(di, hn::Eq(values[o], most)), hn::Set(di, o), answer);
    own = hn::IfThenElse(hn::RebindMask(d, hn::Eq(label, hn::Set(di, o))), values[o], own);
  }
  for (int o = 0; o < Outputs; ++o)
    sum = hn::Add(sum, powers[o] = hn::Exp(d, hn::Sub(values[o], most)));
  const auto there = hn::FirstN(di, static_cast<size_t>(rows));
  sums.correct += static_cast<int64_t>(hn::CountTrue(di, hn::And(there, hn::Eq(answer, label))));
  constexpr int64_t widest = HWY_MAX_BYTES / sizeof(float);
  HWY_ALIGN float log_sum[widest], largest[widest], owns[widest];
  hn::Store(hn::Log(d, sum), d, log_sum);
  hn::Store(most, d, largest);
  hn::Store(own, d, owns);
  for (int64_t n = 0; n < rows; ++n) sums.loss += double(log_sum[n]) + largest[n] - owns[n];
  if (!dy) return;
  HWY_ALIGN float gradients[Outputs * widest];
  const Vec share = hn::Div(hn::Set(d, scale), sum);
  for (int o = 0; o < Outputs; ++o) {
    const auto right = hn::RebindMask(d, hn::Eq(label, hn::Set(di, o)));
    const Vec target = hn::IfThenElseZero(right, hn::Set(d, scale));
    hn::Store(hn::Sub(hn::Mul(powers[o], share), target), d, gradients + o * lanes());
  }
  for (int64_t n = 0; n < rows; ++n)
    for (int o = 0; o < Outputs; ++o) *dy++ = gradients[o * lanes() + n];
}

template <int Outputs>
LossSums narrow_rows(int64_t rows, const float* y, const int32_t* labels, float* dy, float scale) {
  LossSums sums;
  for (int64_t n = 0; n < rows; n += lanes())
    softmax_narrow<Outputs>(std::min(lanes(), rows - n), y + n * Outputs, labels + n,
                            dy ? dy + n * Outputs : nullptr, scale, sums);
  return sums;
}

LossSums softmax_rows(int64_t rows, const float* y, const int32_t* labels, float* dy, float scale,
                      int64_t outputs) {
  switch (outputs) {
    case 1:
      return narrow_rows<1>(rows, y, labels, dy, scale);
    case 2:
      return narrow_rows<2>(rows, y, labels, dy, scale);
    case 3:
      return narrow_rows<3>(rows, y, labels, dy, scale);
    case 4:
      return narrow_rows<4>(rows, y, labels, dy, scale);
  }
  LossSums sums;
  for (int64_t n = 0; n < rows; ++n) {
    bool correct = false;
    sums.loss += softmax_row(y + n * outputs, labels[n], dy ? dy + n * outputs : nullptr, scale,
                             outputs, correct);
    sums.correct += correct;
  }
  return sums;
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

HWY_EXPORT(sigmoid_row);
HWY_EXPORT(softmax_rows);

double sigmoid_loss(const float* z, const float* target, float* dz, float scale, int64_t outputs) {
  return HWY_DYNAMIC_DISPATCH(sigmoid_row)(z, target, dz, scale, outputs);
}

LossSums softmax_loss(int64_t rows, const float* y, const int32_t* labels, float* dy, float scale,
                      int64_t outputs) {
  return HWY_DYNAMIC_DISPATCH(softmax_rows)(rows, y, labels, dy, scale, outputs);
}

}  // namespace lockstep
#endif
