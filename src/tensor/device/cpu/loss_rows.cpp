#include "tensor/device/cpu/loss_rows.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/device/cpu/loss_rows.cpp"
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

constexpr int64_t most_narrow = 4;

// Of lanes beyond the row.
HWY_INLINE Vec load_or(const float* from, int64_t left, float otherwise) {
  const Floats d;
  if (left >= lanes()) return hn::LoadU(d, from);
  const auto there = hn::FirstN(d, static_cast<size_t>(left));
  return hn::IfThenElse(there, hn::MaskedLoad(there, d, from), hn::Set(d, otherwise));
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
  // Of equal outputs the first counts as the answer.
  correct = y[label] == largest && std::find(y, y + label, largest) == y + label;
  if (dy) {
    const Vec share = hn::Set(d, scale / total);
    for (int64_t o = 0; o < outputs; o += lanes())
      store_part(hn::Mul(load_part(dy + o, outputs - o), share), dy + o, outputs - o);
    dy[label] -= scale;
  }
  return std::log(double(total)) + largest - y[label];
}

// As many rows as a vector has lanes, a row a lane: for outputs that would leave it mostly empty.
HWY_INLINE void softmax_narrow(int64_t rows, const float* y, const int32_t* labels, float* dy,
                               float scale, int64_t outputs, LossSums& sums) {
  const Floats d;
  const hn::RebindToSigned<Floats> indices;
  // Lanes beyond the last row repeat it.
  const auto row = hn::Min(hn::Iota(indices, 0), hn::Set(indices, static_cast<int32_t>(rows - 1)));
  const auto first = hn::Mul(row, hn::Set(indices, static_cast<int32_t>(outputs)));
  Vec most = hn::GatherIndex(d, y, first);
  for (int64_t o = 1; o < outputs; ++o) most = hn::Max(most, hn::GatherIndex(d, y + o, first));
  HWY_ALIGN float powers[most_narrow * HWY_MAX_BYTES / sizeof(float)];
  Vec sum = hn::Zero(d);
  for (int64_t o = 0; o < outputs; ++o) {
    const Vec power = hn::Exp(d, hn::Sub(hn::GatherIndex(d, y + o, first), most));
    sum = hn::Add(sum, power);
    hn::Store(power, d, powers + o * lanes());
  }
  HWY_ALIGN float largest[HWY_MAX_BYTES / sizeof(float)], log_sum[HWY_MAX_BYTES / sizeof(float)],
      share[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(most, d, largest);
  hn::Store(hn::Log(d, sum), d, log_sum);
  hn::Store(hn::Div(hn::Set(d, scale), sum), d, share);
  for (int64_t n = 0; n < rows; ++n, y += outputs) {
    const int64_t label = labels[n];
    sums.loss += double(log_sum[n]) + largest[n] - y[label];
    sums.correct += y[label] == largest[n] && std::find(y, y + label, largest[n]) == y + label;
    if (!dy) continue;
    for (int64_t o = 0; o < outputs; ++o) *dy++ = powers[o * lanes() + n] * share[n];
    dy[label - outputs] -= scale;
  }
}

LossSums softmax_rows(int64_t rows, const float* y, const int32_t* labels, float* dy, float scale,
                      int64_t outputs) {
  LossSums sums;
  if (outputs <= most_narrow) {
    for (int64_t n = 0; n < rows; n += lanes())
      softmax_narrow(std::min(lanes(), rows - n), y + n * outputs, labels + n,
                     dy ? dy + n * outputs : nullptr, scale, outputs, sums);
    return sums;
  }
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
